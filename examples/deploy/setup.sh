#!/bin/sh
# Run once as root: the user of the web process, and the folders that both processes share.
set -eu
useradd --system --no-create-home --shell /usr/sbin/nologin arena-web
chmod 700 /srv/race
install -d -m 711 /var/lib/arena
install -d -m 2770 -o arena-web -g arena-web /var/lib/arena/intake /var/lib/arena/intake/uploads
install -d -m 2750 -o arena -g arena-web /var/lib/arena/public
install -d -m 700 -o arena /var/lib/arena/scorer
cp arena-web.service arena-scorer-race.service /etc/systemd/system/
systemctl daemon-reload
systemctl enable --now arena-web arena-scorer-race
# The link with which the organiser signs in:
sudo -u arena-web /usr/local/bin/arena serve --part link --name race --data /var/lib/arena --url https://race.example.org
