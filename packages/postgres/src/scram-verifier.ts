// oxlint-disable-next-line no-restricted-imports -- for the passwords of database roles, when they are made
import { createHash, createHmac, pbkdf2Sync, randomBytes } from 'node:crypto'

const ITERATIONS = 4_096

/**
 * What PostgreSQL stores of a password (RFC 5803 §2). Given in place of the password, the password itself reaches
 * neither the server nor its log.
 *
 * @param password printable ASCII, so that SASLprep (RFC 4013) has nothing to change.
 */
export function scramVerifier(password: string): string {
  if (!/^[\x21-\x7e]+$/.test(password)) throw new Error('a database password must be printable ASCII')
  const salt = randomBytes(16)
  const salted = pbkdf2Sync(password, salt, ITERATIONS, 32, 'sha256')
  const keyed = (text: string) => createHmac('sha256', salted).update(text).digest()
  const storedKey = createHash('sha256').update(keyed('Client Key')).digest('base64')
  const serverKey = keyed('Server Key').toString('base64')
  return `SCRAM-SHA-256$${ITERATIONS}:${salt.toString('base64')}$${storedKey}:${serverKey}`
}
