/** URLs in many notations with which an SSRF attack could reach this machine or its network. */

const loopback = [
  // Decimal, octal and hexadecimal numbers, and addresses with omitted parts.
  ...'127.0.0.1 127.1 127.0.0.1. 127.255.255.254 0 0.0.0.0 0x0 2130706433 0x7f000001 017700000001 0177.0.0.01'.split(
    ' ',
  ),
  ...'0x7f.0x0.0x0.0x1 127.000.000.001 %31%32%37.0.0.1 １２７.0.0.1 127。0。0。1 ①②⑦.⓪.⓪.① %EF%BC%9127.0.0.1'.split(
    ' ',
  ),
  // IPv6, and formats that embed an IPv4 address: mapped, compatible, NAT64, 6to4, Teredo, ISATAP.
  ...'[::1] [0:0:0:0:0:0:0:1] [::] [::ffff:127.0.0.1] [::ffff:7f00:1] [::127.0.0.1] [::ffff:0:7f00:1]'.split(' '),
  ...'[64:ff9b::7f00:1] [64:ff9b:1::7f00:1] [2002:7f00:1::] [2001:0:7f00:1::] [2001::80ff:fffe] [fe80::1]'.split(' '),
  ...'[fe80::5efe:7f00:1] [2001:db8::5efe:127.0.0.1] [::1%25lo] [::ffff:0.0.0.0] [::ffff:2130706433]'.split(' '),
]

const names = [
  ...'localhost LocalHost. localhost.localdomain ip6-loopback a.localhost ⓛⓞⓒⓐⓛⓗⓞⓢⓣ loc%61lhost localhost%2e'.split(
    ' ',
  ),
  ...'lo\u00adcalhost 127.0.0.1.nip.example rebind.example metadata metadata.google.internal router.home.arpa'.split(
    ' ',
  ),
  ...'kubernetes.default.svc host.docker.internal'.split(' '),
]

const privateAddresses = [
  ...'10.0.0.1 172.16.0.1 172.31.255.255 192.168.0.1 100.64.0.1 100.127.255.254 169.254.169.254 0xa9fea9fe'.split(' '),
  ...'2852039166 0251.0376.0251.0376 [::ffff:a9fe:a9fe] [64:ff9b::a9fe:a9fe] [2002:a9fe:a9fe::] 168.63.129.16'.split(
    ' ',
  ),
  ...'100.100.100.200 192.0.0.192 [fd00:ec2::254] [fc00::1] [fdff::1] [fec0::1] [ff02::1] 224.0.0.1'.split(' '),
  ...'255.255.255.255 240.0.0.1 198.18.0.1 192.0.2.1 198.51.100.1 203.0.113.1 [2001:db8::1] [100::1]'.split(' '),
  ...'[3fff::1] [5f00::1] [4000::1] 192.88.99.1 0.1.2.3'.split(' '),
]

/** Returns URLs that two parsers may interpret differently, and malformed or unsupported URLs. */
function ambiguousUrls(port: number): string[] {
  const here = `127.0.0.1:${port}`
  return [
    ...`https://user:pass@${here}/ https://public.example:443@${here}/ https://public.example%40${here}/`.split(' '),
    ...`https://${here}\\@public.example/ https://public.example\\@${here}/ https://${here}#@public.example/`.split(
      ' ',
    ),
    ...`https:${here}/ https:/${here}/ https:////${here}/ https:\\\\${here}\\ //${here}/ HTTPS://${here}`.split(' '),
    ...[`\thttps://${here}/`, ` https://${here}/`, `ht\ntps://${here}/`, `https://127.0\n.0.1:${port}/`],
    ...`ftp://${here}/ file:///etc/passwd gopher://${here}/_x ws://${here}/ unix:/tmp/x data:text/plain,x`.split(' '),
    ...`blob:https://${here}/1 javascript:1 jar:https://${here}!/ about:blank https://127.0.0.1:0000${port}/`.split(
      ' ',
    ),
    ...'https://127.0.0.1:22/ https://public.example:25/ https://public.example:0/ https:// https://:443/ x'.split(' '),
    ...['', 'https://[', `https://[::1:${port}/`, `https://${'a'.repeat(3_000)}.example/`],
  ]
}

function withPort(hosts: string[], port: number): string[] {
  return hosts.flatMap((host) => [`https://${host}:${port}/`, `http://${host}:${port}/`])
}

/** Returns all URLs, with a port of this machine. */
export function ssrfUrls(port: number): string[] {
  return [...withPort([...names, ...privateAddresses], port), ...loopbackUrls(port)]
}

/** Returns the URLs that point to this machine or are invalid. */
export function loopbackUrls(port: number): string[] {
  return [...withPort(loopback, port), ...ambiguousUrls(port)]
}
