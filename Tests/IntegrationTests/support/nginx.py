"""Real nginx servers with configurations of their own, as backends."""

import os
import pathlib
import pwd
import signal
import subprocess
import urllib.error
import urllib.request

from .gateway import free_port
from .waiting import eventually

MODULES = pathlib.Path("/usr/lib/nginx/modules")

_CONFIGURATION = """
{modules}
user {user};
daemon off;
worker_processes 1;
pid {directory}/nginx.pid;
error_log {directory}/error.log warn;
events {{ worker_connections {connections}; }}
http {{
    access_log off;
    default_type application/octet-stream;
    types {{ application/json json; text/html html; text/plain txt; }}
    client_body_temp_path {directory}/body;
    proxy_temp_path {directory}/proxy;
    fastcgi_temp_path {directory}/fastcgi;
    uwsgi_temp_path {directory}/uwsgi;
    scgi_temp_path {directory}/scgi;
    client_max_body_size 64m;
    keepalive_requests 1000000;
    {http}
    server {{
        listen 127.0.0.1:{port};
        server_name _;
        root {root};
        {server}
    }}
}}
"""

_WEBDAV = """
        location / {
            dav_methods PUT DELETE MKCOL COPY MOVE;
            dav_ext_methods PROPFIND OPTIONS;
            create_full_put_path on;
            dav_access user:rw group:r all:r;
            autoindex off;
        }
"""


class Nginx:
    """An nginx in the foreground, on a port that it keeps over restarts."""

    def __init__(self, directory, server="", http="", modules=(), connections=1024):
        self.directory = pathlib.Path(directory)
        self.root = self.directory / "root"
        self.root.mkdir(parents=True)
        self.port = free_port()
        self.configuration = self.directory / "nginx.conf"
        self.configuration.write_text(_CONFIGURATION.format(
            modules="".join(f"load_module {MODULES / name};\n" for name in modules),
            user=pwd.getpwuid(os.getuid()).pw_name, directory=self.directory, root=self.root, port=self.port,
            http=http, server=server, connections=connections))
        self.process = None

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def start(self):
        self.process = subprocess.Popen(
            ["/usr/sbin/nginx", "-p", str(self.directory), "-c", str(self.configuration),
             "-e", str(self.directory / "error.log")])
        eventually(self._answers, f"nginx answers on {self.port}")
        return self

    def _answers(self):
        assert self.process.poll() is None, (self.directory / "error.log").read_text()
        try:
            urllib.request.urlopen(self.url, timeout=5).close()
        except urllib.error.HTTPError:
            return True
        except OSError:
            return False
        return True

    def stop(self):
        """Ends it as a service manager does: requests under way finish."""
        if self.process is not None:
            self.process.send_signal(signal.SIGQUIT)
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.process.terminate()
                self.process.wait(10)
            self.process = None

    def restart(self):
        self.stop()
        return self.start()


def webdav(directory):
    """An nginx that keeps files over WebDAV below its root."""
    return Nginx(directory, server=_WEBDAV, modules=["ngx_http_dav_ext_module.so"])
