import { generateKeyPairSync, randomBytes, sign } from 'node:crypto'

const VALIDITY_YEARS = 10
const TAG = {
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  utf8String: 0x0c,
  utcTime: 0x17,
  sequence: 0x30,
  set: 0x31,
}
/** Returns the context-specific tag `[number]`, constructed or primitive. */
const toContextTag = (number: number, isConstructed = true) => (isConstructed ? 0xa0 : 0x80) + number

/** The object identifier of a signature algorithm, in DER (RFC 5758 section 3.2). */
const ECDSA_WITH_SHA256 = Buffer.from('06082a8648ce3d040302', 'hex')
/** The object identifier of an attribute type, in DER (RFC 5280 appendix A.1: id-at-commonName). */
const COMMON_NAME = Buffer.from('0603550403', 'hex')
/** The object identifier of an extension, in DER (RFC 5280 section 4.2.1.6: id-ce-subjectAltName). */
const SUBJECT_ALT_NAME = Buffer.from('0603551d11', 'hex')

/**
 * Creates a private key and a self-signed certificate (RFC 5280) for one host name, both as PEM.
 *
 * Node can read certificates but cannot create them. The tests of `apps/auth` create theirs with the package `selfsigned`. The stack
 * needs only this simple kind of certificate, so it does without that package and its dependencies.
 */
export function createSelfSignedCertificate(host: string): {
  privateKey: string
  certificate: string
} {
  const keyPair = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const now = new Date()
  const expiry = new Date(now)
  expiry.setUTCFullYear(now.getUTCFullYear() + VALIDITY_YEARS)
  // The issuer and the subject of a self-signed certificate are the same.
  const distinguishedName = encodeSequence(
    encodeDer(TAG.set, encodeSequence(COMMON_NAME, encodeDer(TAG.utf8String, Buffer.from(host)))),
  )
  // [2]: dNSName.
  const alternativeNames = encodeSequence(encodeDer(toContextTag(2, false), Buffer.from(host)))
  const tbsCertificate = encodeSequence(
    // Version 3, which is encoded as 2.
    encodeDer(toContextTag(0), encodeDer(TAG.integer, Buffer.of(2))),
    // The first byte keeps the serial number positive.
    encodeDer(TAG.integer, Buffer.concat([Buffer.of(1), randomBytes(15)])),
    encodeSequence(ECDSA_WITH_SHA256),
    distinguishedName,
    encodeSequence(encodeUtcTime(now), encodeUtcTime(expiry)),
    distinguishedName,
    keyPair.publicKey.export({ type: 'spki', format: 'der' }),
    encodeDer(
      toContextTag(3),
      encodeSequence(encodeSequence(SUBJECT_ALT_NAME, encodeDer(TAG.octetString, alternativeNames))),
    ),
  )
  // The first byte of a bit string is the number of its unused bits.
  const signature = encodeDer(TAG.bitString, Buffer.of(0), sign('sha256', tbsCertificate, keyPair.privateKey))
  return {
    privateKey: String(keyPair.privateKey.export({ type: 'pkcs8', format: 'pem' })),
    certificate: formatCertificatePem(
      encodeSequence(tbsCertificate, encodeSequence(ECDSA_WITH_SHA256), signature),
    ),
  }
}

/** Encodes a DER value. The content must have at most 65 535 bytes; this is not checked. */
function encodeDer(tag: number, ...parts: Buffer[]): Buffer {
  const content = Buffer.concat(parts)
  return Buffer.concat([Buffer.of(tag, ...encodeLength(content.length)), content])
}

function encodeLength(length: number): readonly number[] {
  if (length < 0x80) return [length]
  if (length < 0x100) return [0x81, length]
  return [0x82, Math.floor(length / 0x100), length % 0x100]
}

const encodeSequence = (...parts: Buffer[]) => encodeDer(TAG.sequence, ...parts)
/** Encodes a UTCTime. It can represent only the years 1950 to 2049; this is not checked. */
const encodeUtcTime = (date: Date) =>
  encodeDer(
    TAG.utcTime,
    Buffer.from(
      date
        .toISOString()
        .slice(2)
        .replaceAll(/[-:T]|\.\d+/g, ''),
    ),
  )
const formatCertificatePem = (bytes: Buffer) =>
  `-----BEGIN CERTIFICATE-----\n${bytes.toString('base64').replaceAll(/.{64}/g, '$&\n')}\n-----END CERTIFICATE-----\n`
