"""Milestone 5: which endpoint, which model, which key; and what is said where one is wrong."""

import os
import socket
import ssl
import subprocess
import sys
import unittest
from unittest import mock

from mini_agent.errors import EndpointError, PromptTooLongError, UsageError
from mini_agent.messages import user
from mini_agent.models.base import longest_answer
from mini_agent.models.connect import Options, connect, find_endpoint
from mini_agent.models.endpoint import Endpoint
from mini_agent.models.transport import FAULTS, breakdown, post
from tests.fake_server import FakeServer, chat, plain
from tests.support import ROOT

KEY = "sk-test-0123456789abcdef"


class FindTests(unittest.TestCase):
    """Options go before the environment, and the environment before defaults."""

    def found(self, environ, **options):
        endpoint, wire = find_endpoint(Options(**{"model": "m", **options}), environ)
        return endpoint.url + wire.path, endpoint.key

    def test_a_base_url_is_taken_in_every_form_in_which_people_write_it(self):
        """With the version or without, with a slash, with the whole path."""
        chat_path = "http://h:1/v1/chat/completions"
        for base in ("http://h:1", "http://h:1/", "http://h:1/v1", "http://h:1/v1/", chat_path,
                     " http://h:1/v1\n"):
            self.assertEqual(self.found({"OPENAI_BASE_URL": base})[0], chat_path)
        self.assertEqual(self.found({"OPENAI_BASE_URL": "https://h/api/v3"})[0],
                         "https://h/api/v3/chat/completions")
        for base in ("https://h", "https://h/", "https://h/v1", "https://h/v1/messages"):
            self.assertEqual(self.found({"ANTHROPIC_BASE_URL": base})[0], "https://h/v1/messages")
        self.assertEqual(self.found({"ANTHROPIC_BASE_URL": "https://h/anthropic"})[0],
                         "https://h/anthropic/v1/messages")
        self.assertEqual(self.found({"OPENAI_BASE_URL": "http://[::1]:8080/v1"})[0],
                         "http://[::1]:8080/v1/chat/completions")

    def test_blanks_around_an_option_are_no_part_of_it(self):
        """A copied line has its end with it."""
        self.assertEqual(("http://h:1/v1/chat/completions", "sk-mine-1"), self.found(
            {}, base_url=" http://h:1/v1\n", api_key=" sk-mine-1\n"))
        with self.assertRaisesRegex(UsageError, "not a base URL: 'h:1'; "):
            self.found({}, base_url=" h:1 ")

    def test_the_last_port_is_one_and_a_host_has_no_capitals(self):
        """Official hosts are told by their names, however they are written."""
        self.assertEqual("http://h:65535/v1/chat/completions",
                         self.found({"OPENAI_BASE_URL": "http://h:65535"})[0])
        with self.assertRaises(UsageError):
            self.found({"OPENAI_BASE_URL": "http://h:65536"})
        self.assertEqual(["api.openai.com", "[::1]", ""], [Endpoint(url, "m").host for url in (
            "https://API.OpenAI.com/v1", "http://[::1]:8080", "")])

    def test_what_is_shorter_than_a_key_hides_nothing(self):
        """A placeholder of three letters would hide half a text; four may be a key."""
        self.assertEqual([b"abcd", b"[key]"], [
            Endpoint("", "m", key).hide(b"abcd") for key in ("abc", "abcd")])

    def test_the_provider_is_the_one_whose_variables_are_set(self):
        """Both set: the model's name decides; an option decides over all."""
        both = {"OPENAI_API_KEY": "sk-o-12345", "ANTHROPIC_API_KEY": "sk-a-12345"}
        for environ, options, key in (
                ({"OPENAI_API_KEY": "sk-o-12345"}, {"model": "claude-x"}, "sk-o-12345"),
                ({"ANTHROPIC_API_KEY": "sk-a-12345"}, {"model": "gpt-x"}, "sk-a-12345"),
                (both, {"model": "claude-x"}, "sk-a-12345"),
                (both, {"model": "gpt-x"}, "sk-o-12345"),
                (both, {"model": "gpt-x", "provider": "anthropic"}, "sk-a-12345"),
                ({**both, "OPENAI_API_KEY": " "}, {"model": "gpt-x"}, "sk-a-12345"),
                (both, {"model": "gpt-x", "api_key": "sk-mine-1"}, "sk-mine-1")):
            self.assertEqual(self.found(environ, **options)[1], key)

    def test_the_model_comes_from_the_option_or_its_variable(self):
        """The option goes first."""
        environ = {"OPENAI_BASE_URL": "http://h", "MINI_AGENT_MODEL": "from-variable"}
        self.assertEqual(find_endpoint(Options(), environ)[0].model, "from-variable")
        self.assertEqual(find_endpoint(Options(model="o"), environ)[0].model, "o")

    def test_what_is_missing_or_wrong_is_one_line_that_says_what_to_do(self):
        """Before anything is sent, and without a word of any secret."""
        cases = (
            ({}, {}, "there is no key", "OPENAI_BASE_URL"),
            ({"ANTHROPIC_BASE_URL": "https://api.anthropic.com"}, {}, "there is no key",
             "ANTHROPIC_BASE_URL"),
            ({}, {"model": "claude-x"}, "there is no key", "ANTHROPIC_BASE_URL"),
            ({"OPENAI_BASE_URL": "http://h"}, {"model": ""}, "no model", "--model"),
            ({}, {"provider": "opnai"}, "no provider 'opnai'", "openai"),
            ({"OPENAI_BASE_URL": "localhost:8080"}, {}, "not a base URL", "https://HOST/v1"),
            ({"OPENAI_BASE_URL": "http://h:99999"}, {}, "not a base URL", "https://HOST/v1"),
            ({"OPENAI_BASE_URL": "http://h/v1/ä"}, {}, "not a base URL", "https://HOST/v1"),
            ({"OPENAI_BASE_URL": "https://u:hunter2@h/v1"}, {}, "not a base URL", "without user"),
            ({"OPENAI_BASE_URL": "https://h/v1?key=hunter2"}, {}, "not a base URL", "without user"),
            ({"OPENAI_API_KEY": "hunter2\nX-Evil: 1"}, {}, "the key has a character", "copy"),
            ({"OPENAI_API_KEY": "“hunter2”"}, {}, "the key has a character", "copy"))
        for environ, options, said, remedy in cases:
            with self.subTest(environ=environ, options=options):
                with self.assertRaises(UsageError) as caught:
                    find_endpoint(Options(**{"model": "m", **options}), environ)
                line = str(caught.exception)
                self.assertIn(said, line)
                self.assertIn(remedy, line)
                self.assertNotIn("\n", line)
                self.assertNotIn("hunter2", line + repr(caught.exception.value))

    def test_the_key_is_not_shown_by_what_holds_it(self):
        """Neither options nor endpoint print it."""
        options = Options(model="m", api_key=KEY, base_url="http://h")
        self.assertNotIn(KEY, repr(options) + repr(find_endpoint(options, {})[0]))

    def test_an_answer_takes_no_more_than_a_fifth_of_the_window(self):
        """4,096 tokens, less where the window is small, or what the user says."""
        self.assertEqual([longest_answer(window) for window in (None, 200_000, 2_048, 1)],
                         [4_096, 4_096, 409, 1])
        for options, wanted in (({}, 4_096), ({"window": 2_048}, 409),
                                ({"window": 2_048, "max_tokens": 9}, 9)):
            with FakeServer(plain(chat("hi"))) as server:
                connect(Options(base_url=server.url, model="m", **options), {}).complete(
                    [user("x")], [])
            self.assertEqual(server.requests[0].body["max_tokens"], wanted)

    def test_a_window_that_a_refusal_tells_bounds_the_answers_behind_it(self):
        """Many endpoints count the answer's limit with the prompt: it has to shrink as well."""
        refused = plain({"error": {"message": "This model's maximum context length is 8000 tokens. "
                                   "However, your messages resulted in 9000 tokens."}}, 400)
        with FakeServer(refused, plain(chat("hi"))) as server:
            model = connect(Options(base_url=server.url, model="m"), {})
            with self.assertRaises(PromptTooLongError):
                model.complete([user("x")], [])
            model.complete([user("x")], [])
        self.assertEqual([sent.body["max_tokens"] for sent in server.requests], [4_096, 1_600])


class BadEndpointTests(unittest.TestCase):
    """What goes wrong on the way: one line each, with the word that leads on."""

    def failure(self, url, **options):
        retries = []
        model = connect(Options(base_url=url, model="m", api_key=KEY, **options), {},
                        sleep=lambda _: None, on_retry=lambda **retry: retries.append(retry))
        with self.assertRaises(EndpointError) as caught:
            model.complete([user("x")], [])
        line = str(caught.exception)
        self.assertNotIn("\n", line)
        self.assertNotIn(KEY, line)
        return line, retries

    def test_where_nothing_listens_it_is_said_at_once(self):
        """A mistyped port is not asked five times."""
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            url = f"http://127.0.0.1:{free.getsockname()[1]}"
        line, retries = self.failure(url)
        self.assertEqual(line, f"{url}/v1: nothing listens there; start the server, or check "
                         "OPENAI_BASE_URL")
        self.assertEqual(retries, [])

    def test_a_server_that_goes_away_later_is_waited_for(self):
        """What was reached once is not mistyped."""
        retries = []
        with FakeServer(plain(chat("hi"))) as server:
            model = connect(Options(base_url=server.url, model="m"), {}, sleep=lambda _: None,
                            on_retry=lambda **retry: retries.append(retry["status"]))
            model.complete([user("x")], [])
        with self.assertRaises(EndpointError):
            model.complete([user("x")], [])
        self.assertEqual(retries, ["unreachable"] * 4)

    def test_a_host_that_is_not_there(self):
        """A name under .invalid never resolves."""
        line, _ = self.failure("http://no-such-host.invalid/v1")
        self.assertRegex(line, "no host is known by the name 'no-such-host.invalid'; check the "
                               "network and OPENAI_BASE_URL|cannot be reached")

    def test_tls_where_there_is_none(self):
        """https in the address, plain http behind it."""
        with FakeServer() as server:
            line, retries = self.failure(server.url.replace("http:", "https:"))
        self.assertIn("no TLS there", line)
        self.assertIn("plain http", line)
        self.assertEqual(retries, [])

    def test_every_fault_of_the_network_has_its_line(self):
        """As the library raises them, without a network."""
        from urllib.error import URLError
        untrusted = ssl.SSLCertVerificationError(1, "x")
        untrusted.verify_message = "self-signed certificate"
        spoken, unsaid = ssl.SSLError(1, "x"), ssl.SSLError(1, "x")
        spoken.reason, unsaid.reason = "WRONG_VERSION_NUMBER", None
        name, retry = (socket.gaierror(number, "x")
                       for number in (socket.EAI_NONAME, socket.EAI_AGAIN))
        unknown, broke = "no host is known by the name 'h'", "the connection broke"
        for fault, *told, remedy in (
                (URLError(untrusted), "its certificate is not trusted (self-signed certificate)",
                 "unreachable", False, "SSL_CERT_FILE"),
                (URLError(spoken), "no TLS there (WRONG_VERSION_NUMBER)", "unreachable", False,
                 "plain http"),
                (URLError(unsaid), "no TLS there (x)", "unreachable", False, "plain http"),
                (URLError(name), unknown, "unreachable", False, "OPENAI_BASE_URL"),
                (URLError(retry), unknown, "unreachable", True, "OPENAI_BASE_URL"),
                (URLError(TimeoutError("x")), "no answer in time", "unreachable", True, "network"),
                (URLError(OSError(101, "x")), "it cannot be reached ([Errno 101] x)",
                 "unreachable", True, "network"),
                (ssl.SSLError(1, "x"), f"{broke} (x)", "connection", True, "try again"),
                (OSError(113, "x"), f"{broke} ([Errno 113] x)", "connection", True, "try again"),
                (ConnectionResetError(104, "x"), f"{broke} ([Errno 104] x)", "connection", True,
                 "try again"),
                (ConnectionAbortedError(), f"{broke} (ConnectionAbortedError)", "connection",
                 True, "try again"),
                (TimeoutError("x"), "no answer in time", "timeout", True, "more time")):
            with mock.patch.dict(os.environ, {"https_proxy": ""}):  # as if there were none
                error = breakdown(Endpoint("https://h/v1", "m"), fault)
            self.assertEqual(told, [error.message, error.status, error.transient])
            self.assertIn(remedy, error.remedy)

    def test_where_a_proxy_cannot_be_reached_its_variable_is_named(self):
        """The endpoint is not blamed for it, and the password of the proxy is not shown."""
        from urllib.error import URLError
        asked = {"http_proxy": "http://me:hidden@127.0.0.1:9", "no_proxy": "near.invalid",
                 "https_proxy": ""}
        with mock.patch.dict(os.environ, asked):
            line, _ = self.failure("http://model.invalid/v1")
            self.assertEqual("http://model.invalid/v1: nothing listens at the address in http_proxy"
                             "; check http_proxy and OPENAI_BASE_URL", line)
            named = str(breakdown(Endpoint("http://far.invalid/v1", "m"),
                                  URLError(socket.gaierror(socket.EAI_NONAME, "x"))))
            self.assertIn("no host is known by the name in http_proxy; check http_proxy", named)
            for direct in ("http://near.invalid/v1", "https://far.invalid/v1", "http://[::1]/v1",
                           "http://localhost/v1"):
                said = str(breakdown(Endpoint(direct, "m"), URLError(ConnectionRefusedError())))
                self.assertIn("nothing listens there; start the server", said)

    def test_an_untrusted_certificate_is_refused_by_the_real_library(self):
        """A server with a certificate of its own, made here; skipped without `openssl`."""
        folder = self.enterContext(_certificate(self))
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(folder + "/cert.pem", folder + "/key.pem")
        with FakeServer(plain(chat("hi")), tls=context) as server:
            line, retries = self.failure(server.url.replace("http:", "https:"))
        self.assertIn("its certificate is not trusted", line)
        self.assertIn("SSL_CERT_FILE", line)
        self.assertEqual(retries, [])

    def test_a_proxy_of_the_environment_is_not_used_for_this_machine(self):
        """Local servers are asked directly, whatever HTTP_PROXY says."""
        with FakeServer(plain({}), plain({})) as proxy, FakeServer(plain({})) as server, \
                mock.patch.dict(os.environ, {"http_proxy": proxy.url, "no_proxy": ""}):
            post(server.url + "/v1/x", b"{}", {}, 5, 5).close()
            with self.assertRaises(FAULTS):
                post("http://[::1]:9/v1/x", b"{}", {}, 5, 5)
            self.assertEqual([], proxy.requests)
            post("http://model.invalid/v1/x", b"{}", {}, 5, 5).close()
            self.assertEqual(["http://model.invalid/v1/x"], [sent.path for sent in proxy.requests])

    def test_once_it_stands_a_connection_may_be_silent_for_longer_than_it_took(self):
        """One limit until it stands, the other one for each read."""
        with FakeServer(plain({})) as server, \
                mock.patch.object(socket.socket, "settimeout", autospec=True) as limit:
            post(server.url + "/v1/x", b"{}", {}, 5, 7).close()
        self.assertEqual([5, 7], [limits[-1] for _, limits, _ in limit.mock_calls
                                  if limits[-1] in (5, 7)])


def _certificate(case):
    """A folder with a self-signed certificate."""
    import shutil
    import tempfile
    if shutil.which("openssl") is None:
        case.skipTest("no openssl to make a certificate with")
    folder = tempfile.TemporaryDirectory()
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1",
                    "-subj", "/CN=127.0.0.1", "-keyout", folder.name + "/key.pem",
                    "-out", folder.name + "/cert.pem"], check=True, capture_output=True)
    return folder


class ImportTests(unittest.TestCase):
    """What costs time to import is imported with the first request."""

    def test_connecting_imports_neither_urllib_request_nor_ssl(self):
        """`--help` and every offline command stay fast."""
        code = ("import sys; import mini_agent.models.connect; "
                "print([m for m in ('urllib.request', 'ssl', 'http.client', 'email') "
                "if m in sys.modules])")
        done = subprocess.run([sys.executable, "-S", "-c", code], cwd=ROOT, capture_output=True,
                              text=True, check=True)
        self.assertEqual(done.stdout, "[]\n")


if __name__ == "__main__":
    unittest.main()
