#!/usr/bin/env bash
# Install the Debian packages that tests need, where that is allowed; say how otherwise. Never fails:
# tests that need a missing part are skipped and named at the end of the run.
# Usage: scripts/setup_system.sh chromium postgresql mariadb java groff pango nginx python
set -uo pipefail

missing=()
for part in "$@"; do
  case $part in
    chromium)
      command -v chromium >/dev/null 2>&1 || command -v google-chrome >/dev/null 2>&1 || missing+=(chromium fonts-dejavu-core)
      # What steers the browser is a program of its own, and needs this.
      PATH=$PATH:/sbin ldconfig -p 2>/dev/null | grep -q 'libatomic\.so\.1' ||
        missing+=(libatomic1) ;;
    postgresql) compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null || command -v initdb >/dev/null 2>&1 || missing+=(postgresql) ;;
    mariadb) PATH=$PATH:/usr/sbin command -v mariadbd >/dev/null 2>&1 || missing+=(mariadb-server) ;;
    java) command -v java >/dev/null 2>&1 || missing+=(openjdk-17-jre-headless) ;;
    pango) PATH=$PATH:/sbin ldconfig -p 2>/dev/null | grep -q 'libpangoft2-1\.0\.so\.0' || missing+=(libpango-1.0-0 libpangoft2-1.0-0) ;;
    groff) command -v groff >/dev/null 2>&1 || missing+=(groff-base) ;;
    nginx) PATH=$PATH:/usr/sbin command -v nginx >/dev/null 2>&1 || missing+=(nginx-light) ;;
    python) missing+=(python3 python3-venv) ;;
    *) echo "unknown part: $part" >&2 ;;
  esac
done
[ ${#missing[@]} -gt 0 ] || exit 0

if [ "$(id -u)" -eq 0 ]; then
  as_root=()
elif sudo -n true 2>/dev/null; then
  as_root=(sudo -n)
else
  echo "NOT INSTALLED (no right to): ${missing[*]}. Install them with: sudo apt-get install ${missing[*]}" >&2
  exit 0
fi
command -v apt-get >/dev/null 2>&1 || { echo "NOT INSTALLED (no apt-get here): ${missing[*]}" >&2; exit 0; }
echo "Installing Debian packages: ${missing[*]} ..."
export DEBIAN_FRONTEND=noninteractive
"${as_root[@]}" apt-get update -qq >/dev/null 2>&1
# A database and a proxy would start servers of their own on install; the tests start theirs. Debian asks this file first.
policy=/usr/sbin/policy-rc.d
if [ ! -e $policy ]; then
  trap '"${as_root[@]}" rm -f $policy' EXIT
  printf '#!/bin/sh\nexit 101\n' | "${as_root[@]}" tee $policy >/dev/null && "${as_root[@]}" chmod 755 $policy
fi
"${as_root[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null 2>&1 ||
  echo "NOT INSTALLED (apt-get failed): ${missing[*]}. Try: apt-get install ${missing[*]}" >&2
# Nor does a proxy that was asked for by nobody but the tests start with the machine.
case " ${missing[*]} " in *" nginx-light "*) "${as_root[@]}" systemctl disable -q nginx >/dev/null 2>&1 ;; esac
exit 0
