"""Client properties in Java's words become librdkafka's and Spark's, or are refused by name."""

from pathlib import Path

import pytest

from lab.client_properties import (
    ClientProperties,
    login_line,
    login_options,
    parse,
    property_line,
    read,
    read_consumers,
)
from lab.errors import BadInput

PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"
CERTIFICATE = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----"
KEY = "-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----"


def given(folder: Path, text: str) -> ClientProperties:
    path = folder / "client.properties"
    path.write_text(text)
    return read(path)


def refusal(folder: Path, text: str) -> str:
    with pytest.raises(BadInput) as caught:
        given(folder, text)
    assert caught.value.message.startswith(f"{folder}/client.properties: ")
    return caught.value.message.removeprefix(f"{folder}/client.properties: ")


@pytest.mark.parametrize(
    ("text", "properties"),
    [
        ("a=b", {"a": "b"}),
        ("a = b c \n", {"a": "b c "}),
        ("a: b\n#c=d\n ! e=f\n\n", {"a": "b"}),
        ("a b", {"a": "b"}),
        ("a", {"a": ""}),
        ("a=b=c", {"a": "b=c"}),
        ("a=b \\\n   c\\\n  d", {"a": "b cd"}),
        ("a=b\\\\\nc=d", {"a": "b\\", "c": "d"}),
        (r"a\ b\=c=d\n\te\u0041\q", {"a b=c": "d\n\teAq"}),
        ("a=1\r\na=2\r\n", {"a": "2"}),
        ("a=b\\\n#c", {"a": "b#c"}),
    ],
)
def test_files_are_read_as_java_reads_them(text: str, properties: dict[str, str]) -> None:
    assert parse(text) == properties


@pytest.mark.parametrize(
    ("key", "value", "line"),
    [
        ("a", "b", "a=b"),
        ("a", "b c ", "a=b c "),
        ("a", " b", "a=\\ b"),
        ("a b:c=d", "e=f:g", "a\\ b\\:c\\=d=e=f:g"),
        ("#a", "!b", "\\#a=\\!b"),
        ("a", "b\\c\n\td", "a=b\\\\c\\n\\td"),
        ("a", "é\U0001f600", "a=\\u00e9\\ud83d\\ude00"),
        ("source->target.topics", ".*", "source->target.topics=.*"),
    ],
)
def test_a_property_is_written_as_java_reads_it(key: str, value: str, line: str) -> None:
    assert property_line(key, value) == line
    assert parse(line) == {key: value}


def test_a_login_is_written_as_it_is_read() -> None:
    line = login_line("PLAIN", 'a"n\\n', "${file:/x:y}")

    assert line == rf'{PLAIN} required username="a\"n\\n" password="${{file:/x:y}}";'
    assert login_options(line, "PLAIN") == {"username": 'a"n\\n', "password": "${file:/x:y}"}


def test_nothing_given_is_a_plain_connection(tmp_path: Path) -> None:
    found = given(tmp_path, "# nothing\n")

    assert found.librdkafka == found.java == {"security.protocol": "PLAINTEXT"}


@pytest.mark.parametrize(
    ("mechanism", "module"), [("PLAIN", PLAIN), ("SCRAM-SHA-256", SCRAM), ("SCRAM-SHA-512", SCRAM)]
)
def test_a_login_module_becomes_name_and_password(tmp_path: Path, mechanism: str, module: str) -> None:
    jaas = rf'{module} required username="ann" password="a\"b;c" ;'
    found = given(
        tmp_path,
        f"security.protocol=sasl_ssl\nsasl.mechanism={mechanism}\nsasl.jaas.config={jaas}\n".replace(
            r"\"", r"\\\""
        ),
    )

    assert found.librdkafka == {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": mechanism,
        "sasl.username": "ann",
        "sasl.password": 'a"b;c',
    }
    assert found.java == {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": mechanism,
        "sasl.jaas.config": jaas,
    }
    assert "ann" not in repr(found)


def test_a_trust_store_in_a_file_beside_the_properties_is_read_here(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_text(CERTIFICATE)
    found = given(
        tmp_path,
        "security.protocol=SSL\nssl.truststore.type=PEM\nssl.truststore.location=ca.pem\n"
        "ssl.endpoint.identification.algorithm=\n",
    )

    assert found.librdkafka == {
        "security.protocol": "SSL",
        "ssl.ca.pem": CERTIFICATE,
        "ssl.endpoint.identification.algorithm": "none",
    }
    assert found.java == {
        "security.protocol": "SSL",
        "ssl.truststore.type": "PEM",
        "ssl.truststore.certificates": CERTIFICATE,
        "ssl.endpoint.identification.algorithm": "",
    }


def test_certificates_may_stand_in_the_properties_themselves(tmp_path: Path) -> None:
    inline = CERTIFICATE.replace("\n", "\\n")
    found = given(
        tmp_path, f"security.protocol=SSL\nssl.truststore.type=PEM\nssl.truststore.certificates={inline}"
    )

    assert found.librdkafka["ssl.ca.pem"] == found.java["ssl.truststore.certificates"] == CERTIFICATE


def test_a_key_store_is_taken_apart(tmp_path: Path) -> None:
    (tmp_path / "me.pem").write_text(f"Bag Attributes\n{KEY}\n{CERTIFICATE}\n{CERTIFICATE}\n")
    found = given(
        tmp_path,
        "security.protocol=SSL\nssl.keystore.type=PEM\nssl.keystore.location=me.pem\nssl.key.password=x",
    )

    chain = f"{CERTIFICATE}\n{CERTIFICATE}"
    assert found.librdkafka == {
        "security.protocol": "SSL",
        "ssl.certificate.pem": chain,
        "ssl.key.pem": KEY,
        "ssl.key.password": "x",
    }
    assert found.java == {
        "security.protocol": "SSL",
        "ssl.keystore.type": "PEM",
        "ssl.keystore.certificate.chain": chain,
        "ssl.keystore.key": KEY,
        "ssl.key.password": "x",
    }


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("ssl.truststor.type=PEM", '"ssl.truststor.type" cannot be translated (did you mean '
         '"ssl.truststore.type"?)'),
        ("security.protocol=TLS", 'security.protocol "TLS" is not one of '
         "PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL"),
        ("security.protocol=SASL_SSL", 'sasl.mechanism "GSSAPI" is not one of '
         "PLAIN, SCRAM-SHA-256, SCRAM-SHA-512"),
        ("security.protocol=SASL_SSL\nsasl.mechanism=PLAIN",
         f"sasl.jaas.config is not of the form {PLAIN} required …;"),
        (f"security.protocol=SASL_SSL\nsasl.mechanism=PLAIN\nsasl.jaas.config={SCRAM} required;",
         f"sasl.jaas.config is not of the form {PLAIN} required …;"),
        (f"security.protocol=SASL_SSL\nsasl.mechanism=PLAIN\nsasl.jaas.config={PLAIN} required token=x;",
         "sasl.jaas.config has token, not username and password"),
        ("ssl.truststore.location=a.jks", 'ssl.truststore.type "JKS" is not PEM'),
        ("ssl.truststore.type=PEM\nssl.truststore.location=a.pem",
         "ssl.truststore.location a.pem: No such file or directory"),
        ("ssl.keystore.type=PEM\nssl.keystore.certificate.chain=x",
         "the PEM key store needs a certificate chain and a private key"),
        ("ssl.endpoint.identification.algorithm=ldap",
         'ssl.endpoint.identification.algorithm "ldap" is neither https nor empty'),
    ],
)  # fmt: skip
def test_what_cannot_be_translated_is_refused_by_name(tmp_path: Path, text: str, told: str) -> None:
    assert refusal(tmp_path, text) == told


def test_all_that_is_wrong_is_said_together_and_without_secrets(tmp_path: Path) -> None:
    told = refusal(
        tmp_path,
        "ssl.truststore.password=hunter2\nsecurity.protocol=SASL_SSL\nsasl.mechanism=PLAIN\n"
        'sasl.jaas.config=NoSuchModule required username="a" password="hunter2";\nacks=all',
    )

    assert told.count("; ") == 2
    assert '"ssl.truststore.password" cannot be translated' in told
    assert '"acks" cannot be translated' in told
    assert "hunter2" not in told


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadInput) as caught:
        read(tmp_path / "none.properties")

    assert caught.value.message == f"{tmp_path}/none.properties: No such file or directory"


def test_a_consumers_file_has_bootstrap_servers_and_what_it_says_of_reading_is_left_out(
    tmp_path: Path,
) -> None:
    path = tmp_path / "consumer.properties"
    path.write_text(
        "bootstrap.servers=one:1, two:2\ngroup.id=any\nkey.deserializer=org.example.Any\nclient.id=lab\n"
    )
    bootstrap, client = read_consumers(path)

    assert bootstrap == "one:1,two:2"
    assert client.librdkafka == client.java == {"client.id": "lab", "security.protocol": "PLAINTEXT"}

    path.write_text("client.id=lab\n")
    assert read_consumers(path)[0] == ""
    path.write_text("bootstrap.servers=one:1\nno.such.key=1\n")
    with pytest.raises(BadInput, match=r'"no\.such\.key" cannot be translated'):
        read_consumers(path)
