/** URLs that an SSRF attack could use to reach this machine or its network, in many spellings. */

const loopback = [
  ...['127.0.0.1', '127.1', '127.0.1', '127.0.0.1.', '127.255.255.254', '0', '0.0.0.0', '0x0', '00000', '127.0.0.2'],
  ...[
    '2130706433',
    '0x7f000001',
    '0X7F000001',
    '017700000001',
    '0x7f.0.0.1',
    '0177.0.0.1',
    '0177.0.0.01',
    '127.0.0.0x1',
  ],
  ...['0x7f.1', '0x7f.0x0.0x0.0x1', '0177.0x0.0.1', '127.0x1', '127.000.000.001', '0000177.0.0.1', '%31%32%37.0.0.1'],
  ...[
    '１２７.0.0.1',
    '127。0。0。1',
    '127．0．0．1',
    '127｡0｡0｡1',
    '①②⑦.⓪.⓪.①',
    '⑫7.0.0.1',
    '127.0.0.１',
    '%EF%BC%9127.0.0.1',
  ],
  ...['[::1]', '[0:0:0:0:0:0:0:1]', '[0000:0000:0000:0000:0000:0000:0000:0001]', '[::0001]', '[0::1]', '[::0:1]'],
  ...['[::ffff:127.0.0.1]', '[::ffff:7f00:1]', '[::FFFF:127.0.0.1]', '[0:0:0:0:0:ffff:7f00:0001]', '[::127.0.0.1]'],
  ...['[::7f00:1]', '[::ffff:0:127.0.0.1]', '[::ffff:0:7f00:1]', '[64:ff9b::127.0.0.1]', '[64:ff9b::7f00:1]'],
  ...['[64:ff9b:1::7f00:1]', '[2002:7f00:1::]', '[2002:7f00:0001::1]', '[2001:0:7f00:1::]', '[2001::80ff:fffe]'],
  ...[
    '[::]',
    '[0:0:0:0:0:0:0:0]',
    '[::ffff:0.0.0.0]',
    '[::ffff:0:0]',
    '[fe80::1]',
    '[fe80::5efe:7f00:1]',
    '[::1%25lo]',
  ],
  ...['[2001:db8::5efe:127.0.0.1]', '[fe80::1%25eth0]', '[::ffff:2130706433]'],
]

const names = [
  ...['localhost', 'LOCALHOST', 'LocalHost.', 'localhost.localdomain', 'localhost6', 'ip6-localhost', 'ip6-loopback'],
  ...[
    'a.localhost',
    'a.b.localhost.',
    'ⓛⓞⓒⓐⓛⓗⓞⓢⓣ',
    'ｌｏｃａｌｈｏｓｔ',
    'loc%61lhost',
    'localhost%2e',
    'lo\u00adcalhost',
  ],
  ...['127.0.0.1.nip.example', '127-0-0-1.sslip.example', 'lvh.example', 'localtest.example', 'rebind.example'],
  ...[
    'spoofed.burp.example',
    'customer1.app.localhost.example',
    'xn--localhost-.example',
    'metadata',
    'metadata.local',
  ],
  ...[
    'metadata.google.internal',
    'instance-data',
    'kubernetes.default.svc',
    'host.docker.internal',
    'router.home.arpa',
  ],
]

const privateAddresses = [
  ...['10.0.0.1', '10.255.255.255', '172.16.0.1', '172.31.255.255', '192.168.0.1', '192.168.1.254', '100.64.0.1'],
  ...['100.127.255.254', '169.254.0.1', '169.254.169.254', '169.254.170.2', '169.254.169.253', '0xa9fea9fe'],
  ...['2852039166', '0251.0376.0251.0376', '169.254.43518', '0xA9.0xFE.0xA9.0xFE', '[::ffff:169.254.169.254]'],
  ...['[::ffff:a9fe:a9fe]', '[64:ff9b::a9fe:a9fe]', '[2002:a9fe:a9fe::]', '168.63.129.16', '[::ffff:168.63.129.16]'],
  ...['100.100.100.200', '[::ffff:100.100.100.200]', '192.0.0.192', '192.0.0.170', '[fd00:ec2::254]', '[fd20:ce::254]'],
  ...['[fd00:0ec2:0:0:0:0:0:254]', '[fc00::1]', '[fdff::1]', '[fec0::1]', '[ff02::1]', '[ff05::2]', '224.0.0.1'],
  ...['239.255.255.250', '255.255.255.255', '240.0.0.1', '198.18.0.1', '192.0.2.1', '198.51.100.1', '203.0.113.1'],
  ...['[2001:db8::1]', '[100::1]', '[3fff::1]', '[5f00::1]', '[4000::1]', '[2001:20::1]', '192.88.99.1', '0.1.2.3'],
]

const forms: ((host: string, port: number) => string)[] = [
  (host, port) => `https://${host}:${port}/`,
  (host, port) => `http://${host}:${port}/`,
]

/** URLs that two parsers may read differently, and malformed or unsupported ones. */
function ambiguousUrls(port: number): string[] {
  const here = `127.0.0.1:${port}`
  return [
    ...[`https://user@${here}/`, `https://user:pass@${here}/`, `https://public.example@${here}/`, `https://@${here}/`],
    ...[`https://public.example:443@${here}/`, `https://public.example%40${here}/`, `https://public.example#@${here}/`],
    ...[`https://${here}\\@public.example/`, `https://public.example\\@${here}/`, `https://${here}#@public.example/`],
    ...[
      `https:${here}/`,
      `https:/${here}/`,
      `https:///${here}/`,
      `https:////${here}/`,
      `https:\\\\${here}\\`,
      `//${here}/`,
    ],
    ...[
      `\thttps://${here}/`,
      ` https://${here}/`,
      `ht\ntps://${here}/`,
      `https://127.0\n.0.1:${port}/`,
      `https://${here}/\r\n`,
    ],
    ...[`ftp://${here}/`, `file://${here}/etc/passwd`, `file:///etc/passwd`, `gopher://${here}/_x`, `dict://${here}/`],
    ...[
      `ws://${here}/`,
      `wss://${here}/`,
      `unix:/tmp/x`,
      `data:text/plain,x`,
      `blob:https://${here}/1`,
      `javascript:1`,
    ],
    ...[
      `jar:https://${here}!/`,
      `ldap://${here}/`,
      `tftp://${here}/`,
      `about:blank`,
      `HTTPS://${here}`,
      `https://${here}?`,
    ],
    ...[
      `https://[::ffff:127.0.0.1]:${port}?x@public.example`,
      `https://127.0.0.1:0${port}/`,
      `https://127.0.0.1:00000${port}/`,
    ],
    ...[
      `https://127.0.0.1:22/`,
      `https://public.example:25/`,
      `https://public.example:6379/`,
      `https://public.example:0/`,
    ],
    ...[
      '',
      'https://',
      'https://:443/',
      'https://[',
      `https://[::1:${port}/`,
      'x',
      `https://${'a'.repeat(3_000)}.example/`,
    ],
  ]
}

/** All URLs, with a port of this machine. */
export function ssrfUrls(port: number): string[] {
  return [
    ...[...names, ...privateAddresses].flatMap((host) => forms.map((form) => form(host, port))),
    ...loopbackUrls(port),
  ]
}

/** The URLs that mean this machine or are invalid. */
export function loopbackUrls(port: number): string[] {
  return [...loopback.flatMap((host) => forms.map((form) => form(host, port))), ...ambiguousUrls(port)]
}
