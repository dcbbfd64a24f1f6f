"""Files with which systemd or containers, and a proxy, run a server: ``--print-units``."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

_SAFE = """\
NoNewPrivileges=true
ProtectSystem=strict
ProtectHome=read-only
PrivateTmp=true
PrivateDevices=true
ProtectKernelTunables=true
ProtectControlGroups=true
RestrictSUIDSGID=true
"""

_WEB = """\
# The web process: pages, HTTP API, uploads. Its user cannot enter the competition's folder.
[Unit]
Description=arena: web process
After=network.target

[Service]
User=arena-web
Group=arena-web
UMask=0007
# Secrets, of root only: lines such as ARENA_OIDC_CLIENT_SECRET=... and ARENA_SMTP_PASSWORD=...
EnvironmentFile=-/etc/arena/web.env
ExecStart={program} serve --part web --name {names} --data {data} \\
    --host 127.0.0.1 --port {port} --url https://{host}
Restart=always
RestartSec=1
TimeoutStopSec=45
InaccessiblePaths={folders}
ReadWritePaths={data}/intake
{safe}
[Install]
WantedBy=multi-user.target
"""

_SCORER = """\
# The scorer: the only process that opens the competition. It needs no network.
[Unit]
Description=arena: scorer of {name}
Requires=arena-checker-{name}.socket
After=arena-web.service arena-checker-{name}.socket

[Service]
User={owner}
SupplementaryGroups=arena-web
UMask=0007
ExecStart={program} serve --part scorer -C {folder} --name {name} --data {data} \\
    --checker-user arena-check
Restart=always
RestartSec=1
TimeoutStopSec=180
PrivateNetwork=true
ReadWritePaths={folder} {data}
{safe}
[Install]
WantedBy=multi-user.target
"""

_CHECKER_SOCKET = """\
# Only the scorer's user can give files to the process that reads them.
[Unit]
Description=arena: socket of the process that reads files for {name}

[Socket]
ListenStream={data}/checker/{name}.sock
SocketUser={owner}
SocketMode=0600
DirectoryMode=0711

[Install]
WantedBy=sockets.target
"""

_CHECKER = """\
# Reads uploaded files. Its user can enter neither the competition nor the records of the server.
[Unit]
Description=arena: reads files for {name}

[Service]
User=arena-check
Group=arena-check
UMask=0077
ExecStart={program} serve --part checker --name {name} --data {data}
Restart=always
RestartSec=1
PrivateNetwork=true
InaccessiblePaths={folder} {data}
{safe}
[Install]
WantedBy=multi-user.target
"""

_RUNNER = """\
# Runs the programs of teams. Its user can read neither the labels nor the records of the server.
# Before the first start, as root: copy the inputs, and the file of the runner, which is made by
#   {program} programs runner local -C {folder}
# to hidden, sample and runner.json in /var/lib/arena-runner/{name}, owned by arena-run, mode 700.
# Then, as arena-run: {program} programs check
[Unit]
Description=arena: runs programs of {name}
After=arena-web.service

[Service]
User=arena-run
Group=arena-run
UMask=0077
ExecStart={program} runner --to http://127.0.0.1:{port}/{name} \\
    --token-file /var/lib/arena-runner/{name}/runner.json --sandbox {sandbox} \\
    --inputs /var/lib/arena-runner/{name}/hidden --sample /var/lib/arena-runner/{name}/sample
Restart=always
RestartSec=10
TimeoutStopSec=30
# A control group of its own, in which it limits each program.
Delegate=yes
InaccessiblePaths={folder} {data}
ReadWritePaths=/var/lib/arena-runner
NoNewPrivileges={no_new_privileges}
ProtectSystem=strict
ProtectHome=true
PrivateTmp=true

[Install]
WantedBy=multi-user.target
"""

_RUNNER_SETUP = """\
id arena-run || useradd --system --user-group --no-create-home --shell /usr/sbin/nologin arena-run
install -d -m 700 -o arena-run /var/lib/arena-runner
"""

_SETUP = """\
#!/bin/sh
# Run once as root: the users of the processes, and the folders that they share.
set -eu
for user in arena-web arena-check; do
    id $user || useradd --system --user-group --no-create-home --shell /usr/sbin/nologin $user
done
chmod 700 {folders}
install -d -m 711 {data}
install -d -m 2770 -o arena-web -g arena-web {data}/intake {data}/intake/uploads
install -d -m 2750 -o {owner} -g arena-web {data}/public
install -d -m 700 -o {owner} {data}/scorer
install -d -m 711 {data}/checker
{runners}cp arena-*.service arena-*.socket /etc/systemd/system/
systemctl daemon-reload
systemctl enable --now arena-web {enabled}
# The link with which the organiser signs in:
sudo -u arena-web {program} serve --part link --name {names} --data {data} --url https://{host}
"""

_CADDY = """\
# Caddy obtains and renews the certificate. Set trusted_proxies = ["127.0.0.1"] in [server].
{host} {{
	@private path /health /metrics
	respond @private 404
	request_body {{
		max_size {megabytes}MB
	}}
	reverse_proxy 127.0.0.1:{port}
}}
"""

_NGINX = """\
# Reload nginx with it, then run certbot --nginx -d {host}, which adds the certificate, port 443 and
# a redirection to it. Set trusted_proxies = ["127.0.0.1"] in [server].
server {{
	server_name {host};
	listen 80;
	client_max_body_size {megabytes}m;
	location ~ ^/(health|metrics)$ {{ return 404; }}
	location / {{
		proxy_pass http://127.0.0.1:{port};
		proxy_http_version 1.1;
		proxy_set_header Host $host;
		proxy_set_header X-Forwarded-For $remote_addr;
		proxy_set_header X-Forwarded-Proto $scheme;
		proxy_request_buffering off;
		proxy_buffering off;
		proxy_read_timeout 1h;
	}}
}}
"""


_CONTAINERFILE = """\
# In a checkout of arena: podman build -t localhost/arena -f examples/deploy/Containerfile .
# Without compose.yaml, for a network that is trusted, with a folder for accounts and uploads:
# podman run -p 8000:8000 -v ./race:/competition -v ./race-server:/data localhost/arena
FROM docker.io/library/python:3.13-slim
# LightGBM, of the simulated teams, needs OpenMP.
RUN apt-get update -q && apt-get install -y -q --no-install-recommends libgomp1 \\
    && rm -rf /var/lib/apt/lists/*
RUN useradd --system arena-web && useradd --system arena-check
COPY pyproject.toml README.md LICENSE /src/
COPY arena /src/arena
COPY plugins /src/plugins
COPY schemas /src/schemas
RUN pip install --no-cache-dir "/src[serve,oidc]" && rm -r /src
WORKDIR /competition
EXPOSE 8000
ENTRYPOINT ["arena"]
CMD ["serve", "-C", "/competition", "--host", "0.0.0.0", "--data", "/data", \\
     "--web-user", "arena-web", "--checker-user", "arena-check"]
"""

_COMPOSE_COMPETITION = """\
  scorer-{name}:  # the only one that opens the competition; it has no network
    image: localhost/arena
    user: "${{OWNER}}:${{GROUP}}"
    group_add: ["10001"]
    environment: {{LOGNAME: organiser}}
    command: serve --part scorer -C /competition --name {name} --data /data --checker-user checker
    volumes: ["{folder}:/competition", data:/data, checker:/data/checker]
    network_mode: none
    cap_drop: [ALL]
    security_opt: [no-new-privileges]
    stop_grace_period: 180s
    restart: always
    depends_on: {{prepare: {{condition: service_completed_successfully}}}}
  checker-{name}:  # reads uploaded files; sees neither the competition nor others' files
    image: localhost/arena
    user: "10002:${{GROUP}}"
    entrypoint: [sh, -c, "umask 007; exec arena serve --part checker --name {name} --data /data"]
    volumes: [checker:/data/checker]
    network_mode: none
    read_only: true
    tmpfs: [/tmp]
    cap_drop: [ALL]
    security_opt: [no-new-privileges]
    restart: always
    depends_on: {{prepare: {{condition: service_completed_successfully}}}}
"""

_COMPOSE = """\
# OWNER=$(stat -c %u {first}) GROUP=$(stat -c %g {first}) podman compose up -d
# The link with which the organiser signs in:
# podman compose exec web arena serve --part link --name {names} --data /data --url https://{host}
services:
  prepare:
    image: localhost/arena
    user: root
    entrypoint: [sh, -euc]
    command:
      - |
        chmod 711 /data
        install -d -m 2770 -o 10001 -g 10001 /data/intake /data/intake/uploads
        install -d -m 2750 -o ${{OWNER}} -g 10001 /data/public
        install -d -m 700 -o ${{OWNER}} /data/scorer
        install -d -m 2770 -o 10002 -g ${{GROUP}} /data/checker
    volumes: [data:/data, checker:/data/checker]
  web:  # cannot see the competition's folder
    image: localhost/arena
    user: "10001:10001"
    command: serve --part web --name {names} --data /data --port {port} --url https://{host}
    environment: [ARENA_OIDC_CLIENT_SECRET, ARENA_SMTP_PASSWORD]  # if they are set outside
    volumes: [data:/data]
    ports: ["80:80", "443:443"]
    read_only: true
    tmpfs: [/tmp]
    cap_drop: [ALL]
    security_opt: [no-new-privileges]
    stop_grace_period: 45s
    restart: always
    depends_on: {{prepare: {{condition: service_completed_successfully}}}}
{competitions}  caddy:  # on the loopback interface of the web process
    image: docker.io/library/caddy:2
    network_mode: service:web
    volumes: [./Caddyfile:/etc/caddy/Caddyfile:ro, certificates:/data]
    restart: always
    depends_on: [web]
volumes:
  data:
  checker:
  certificates:
"""


@dataclass(frozen=True, slots=True)
class UnitCompetition:
    """A competition for which units are written."""

    folder: Path
    name: str
    """In addresses."""
    sandbox: str = ""
    """In which its programs run; empty: it takes none."""


def unit_files(
    competitions: Sequence[UnitCompetition],
    data: Path,
    host: str,
    port: int,
    *,
    max_bytes: int,
    owner: str,
    program: str,
) -> dict[str, str]:
    """Return the content of each file, by its name.

    Parameters
    ----------
    data
        The folder of the queue and uploads.
    host
        The name under which participants reach the server.
    port
        Where the web process listens, on loopback.
    max_bytes
        The size of the largest submission.
    owner
        The user of the scorers, who owns the competitions' folders.
    program
        The command ``arena`` with its path.
    """
    values = {
        "data": data,
        "host": host,
        "port": port,
        "program": program,
        "owner": owner,
        "megabytes": -(-max_bytes // 10**6) + 1,
        "safe": _SAFE,
        "first": competitions[0].folder,
        "names": ",".join(competition.name for competition in competitions),
        "folders": " ".join(str(competition.folder) for competition in competitions),
        "runners": _RUNNER_SETUP
        if any(competition.sandbox for competition in competitions)
        else "",
        "enabled": " ".join(
            f"arena-checker-{competition.name}.socket arena-scorer-{competition.name}"
            for competition in competitions
        ),
    }
    files: dict[str, str] = {}
    services = ""
    for competition in competitions:
        fields = values | {"folder": competition.folder, "name": competition.name}
        services += _COMPOSE_COMPETITION.format_map(fields)
        files |= {
            f"arena-scorer-{competition.name}.service": _SCORER.format_map(fields),
            f"arena-checker-{competition.name}.socket": _CHECKER_SOCKET.format_map(fields),
            f"arena-checker-{competition.name}.service": _CHECKER.format_map(fields),
        }
        if competition.sandbox:
            fields["sandbox"] = shlex.quote(competition.sandbox)
            # newuidmap, which gives podman its subordinate users, runs as root.
            is_podman = competition.sandbox.startswith("podman")
            fields["no_new_privileges"] = "false" if is_podman else "true"
            files[f"arena-runner-{competition.name}.service"] = _RUNNER.format_map(fields)
    values["competitions"] = services
    common = {
        "setup.sh": _SETUP,
        "arena-web.service": _WEB,
        "Caddyfile": _CADDY,
        "nginx.conf": _NGINX,
        "compose.yaml": _COMPOSE,
    }
    files |= {file: text.format_map(values) for file, text in common.items()}
    return files | {"Containerfile": _CONTAINERFILE}
