"""The look of the platform: style sheets, icons, page frames, components and the form renderer."""
