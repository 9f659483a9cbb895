// Search in pages that are opened from a folder: browsers start no worker there, so the theme's runs in a hidden frame.
// The theme asks for this by the name IFrameWorker, and finds its own address by the frame's only script.
if (location.protocol === "file:") {
  class IFrameWorker extends EventTarget {
    constructor(address) {
      super();
      this.waiting = [];
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.append(frame);
      this.inside = frame.contentWindow;
      this.inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      this.inside.importScripts = (...addresses) => Promise.all(addresses.map((each) => this.load(each)));
      this.load(address).then(() => {
        this.ready = true;
        this.waiting.forEach((data) => this.postMessage(data));
      });
    }

    load(address) {
      const script = this.inside.document.createElement("script");
      script.src = new URL(address, location.href).href;
      const loaded = new Promise((resolve, reject) => Object.assign(script, { onload: resolve, onerror: reject }));
      this.inside.document.body.append(script);
      return loaded;
    }

    postMessage(data) {
      if (this.ready) this.inside.dispatchEvent(new this.inside.MessageEvent("message", { data }));
      else this.waiting.push(data);
    }
  }

  window.IFrameWorker = IFrameWorker;
  window.Worker = IFrameWorker;
}
