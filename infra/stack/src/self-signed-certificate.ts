import { generateKeyPairSync, randomBytes, sign } from 'node:crypto'

const YEARS = 10
const TAG = { integer: 0x02, bits: 0x03, octets: 0x04, utf8: 0x0c, time: 0x17, list: 0x30, set: 0x31 }
/** The tag of `[number]` in the ASN.1 of RFC 5280: constructed, or primitive if `isConstructed` is false. */
const toContextTag = (number: number, isConstructed = true) => (isConstructed ? 0xa0 : 0x80) + number

/** Object identifiers of RFC 5280 §4.1 and §4.2.1 in DER. */
const ECDSA_WITH_SHA256 = Buffer.from('06082a8648ce3d040302', 'hex')
const COMMON_NAME = Buffer.from('0603550403', 'hex')
const SUBJECT_ALT_NAME = Buffer.from('0603551d11', 'hex')

/**
 * Creates a key and a self-signed certificate (RFC 5280) for one host name, as PEM. Node can read certificates but not create
 * them, and a library for it would add a dozen packages.
 */
export function createSelfSignedCertificate(host: string): { key: string; certificate: string } {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const now = new Date()
  const expiry = new Date(now)
  expiry.setUTCFullYear(now.getUTCFullYear() + YEARS)
  const name = encodeSequence(
    encodeDer(TAG.set, encodeSequence(COMMON_NAME, encodeDer(TAG.utf8, Buffer.from(host)))),
  )
  const names = encodeSequence(encodeDer(toContextTag(2, false), Buffer.from(host)))
  const body = encodeSequence(
    encodeDer(toContextTag(0), encodeDer(TAG.integer, Buffer.of(2))),
    encodeDer(TAG.integer, Buffer.concat([Buffer.of(1), randomBytes(15)])),
    encodeSequence(ECDSA_WITH_SHA256),
    name,
    encodeSequence(encodeUtcTime(now), encodeUtcTime(expiry)),
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    encodeDer(
      toContextTag(3),
      encodeSequence(encodeSequence(SUBJECT_ALT_NAME, encodeDer(TAG.octets, names))),
    ),
  )
  const signature = encodeDer(TAG.bits, Buffer.of(0), sign('sha256', body, privateKey))
  return {
    key: String(privateKey.export({ type: 'pkcs8', format: 'pem' })),
    certificate: formatPem(encodeSequence(body, encodeSequence(ECDSA_WITH_SHA256), signature)),
  }
}

/** Encodes a DER value of at most 65 535 bytes. */
function encodeDer(tag: number, ...parts: Buffer[]): Buffer {
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

const encodeSequence = (...parts: Buffer[]) => encodeDer(TAG.list, ...parts)
/** Encodes a UTCTime, which can represent only years before 2050. */
const encodeUtcTime = (date: Date) =>
  encodeDer(
    TAG.time,
    Buffer.from(
      date
        .toISOString()
        .slice(2)
        .replaceAll(/[-:T]|\.\d+/g, ''),
    ),
  )
const formatPem = (bytes: Buffer) =>
  `-----BEGIN CERTIFICATE-----\n${bytes.toString('base64').replaceAll(/.{64}/g, '$&\n')}\n-----END CERTIFICATE-----\n`
