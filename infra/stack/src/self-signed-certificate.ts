import { generateKeyPairSync, randomBytes, sign } from 'node:crypto'

const YEARS = 10
const TAG = { integer: 0x02, bits: 0x03, octets: 0x04, utf8: 0x0c, time: 0x17, list: 0x30, set: 0x31 }
/** Tags of `[number]` in the ASN.1 of RFC 5280, with and without something inside. */
const context = (number: number, inside = true) => (inside ? 0xa0 : 0x80) + number

/** DER of what RFC 5280 §4.1 and §4.2.1 name. */
const ECDSA_WITH_SHA256 = Buffer.from('06082a8648ce3d040302', 'hex')
const COMMON_NAME = Buffer.from('0603550403', 'hex')
const SUBJECT_ALT_NAME = Buffer.from('0603551d11', 'hex')

/**
 * A key and a certificate (RFC 5280) for one host name, which nobody trusts who was not told to, as PEM. Node reads
 * certificates and makes none; a library for it would bring a dozen packages.
 */
export function selfSignedCertificate(host: string): { key: string; certificate: string } {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const now = new Date()
  const until = new Date(now)
  until.setUTCFullYear(now.getUTCFullYear() + YEARS)
  const name = list(der(TAG.set, list(COMMON_NAME, der(TAG.utf8, Buffer.from(host)))))
  const names = list(der(context(2, false), Buffer.from(host)))
  const signed = list(
    der(context(0), der(TAG.integer, Buffer.of(2))),
    der(TAG.integer, Buffer.concat([Buffer.of(1), randomBytes(15)])),
    list(ECDSA_WITH_SHA256),
    name,
    list(time(now), time(until)),
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    der(context(3), list(list(SUBJECT_ALT_NAME, der(TAG.octets, names)))),
  )
  const signature = der(TAG.bits, Buffer.of(0), sign('sha256', signed, privateKey))
  return {
    key: String(privateKey.export({ type: 'pkcs8', format: 'pem' })),
    certificate: pem(list(signed, list(ECDSA_WITH_SHA256), signature)),
  }
}

function der(tag: number, ...parts: Buffer[]): Buffer {
  const content = Buffer.concat(parts)
  const { length } = content
  const size =
    length < 0x80
      ? [length]
      : length < 0x100
        ? [0x81, length]
        : [0x82, Math.floor(length / 0x100), length % 0x100]
  return Buffer.concat([Buffer.of(tag, ...size), content])
}

const list = (...parts: Buffer[]) => der(TAG.list, ...parts)
/** UTCTime, for years before 2050. */
const time = (date: Date) =>
  der(
    TAG.time,
    Buffer.from(
      date
        .toISOString()
        .slice(2)
        .replaceAll(/[-:T]|\.\d+/g, ''),
    ),
  )
const pem = (bytes: Buffer) =>
  `-----BEGIN CERTIFICATE-----\n${bytes.toString('base64').replaceAll(/.{64}/g, '$&\n')}\n-----END CERTIFICATE-----\n`
