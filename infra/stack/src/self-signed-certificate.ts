import { generateKeyPairSync, randomBytes, sign } from 'node:crypto'

const YEARS = 10
const TAG = { integer: 0x02, bits: 0x03, octets: 0x04, utf8: 0x0c, time: 0x17, list: 0x30, set: 0x31 }
/** The tag of `[number]` in the ASN.1 of RFC 5280: constructed, or primitive if `inside` is false. */
const contextTag = (number: number, inside = true) => (inside ? 0xa0 : 0x80) + number

/** Object identifiers of RFC 5280 §4.1 and §4.2.1 in DER. */
const ECDSA_WITH_SHA256 = Buffer.from('06082a8648ce3d040302', 'hex')
const COMMON_NAME = Buffer.from('0603550403', 'hex')
const SUBJECT_ALT_NAME = Buffer.from('0603551d11', 'hex')

/**
 * Creates a key and a self-signed certificate (RFC 5280) for one host name, as PEM. Node can read certificates but not create
 * them, and a library for it would add a dozen packages.
 */
export function selfSignedCertificate(host: string): { key: string; certificate: string } {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const now = new Date()
  const expiry = new Date(now)
  expiry.setUTCFullYear(now.getUTCFullYear() + YEARS)
  const name = sequence(der(TAG.set, sequence(COMMON_NAME, der(TAG.utf8, Buffer.from(host)))))
  const names = sequence(der(contextTag(2, false), Buffer.from(host)))
  const body = sequence(
    der(contextTag(0), der(TAG.integer, Buffer.of(2))),
    der(TAG.integer, Buffer.concat([Buffer.of(1), randomBytes(15)])),
    sequence(ECDSA_WITH_SHA256),
    name,
    sequence(utcTime(now), utcTime(expiry)),
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    der(contextTag(3), sequence(sequence(SUBJECT_ALT_NAME, der(TAG.octets, names)))),
  )
  const signature = der(TAG.bits, Buffer.of(0), sign('sha256', body, privateKey))
  return {
    key: String(privateKey.export({ type: 'pkcs8', format: 'pem' })),
    certificate: pem(sequence(body, sequence(ECDSA_WITH_SHA256), signature)),
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

const sequence = (...parts: Buffer[]) => der(TAG.list, ...parts)
/** UTCTime, for years before 2050. */
const utcTime = (date: Date) =>
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
