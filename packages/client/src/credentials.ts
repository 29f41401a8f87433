/** The agent's credentials. Protect them like a password, and pass them to later clients of the same service. */
export interface Credentials {
  /** The origin of the service. The client sends the credentials nowhere else. */
  readonly origin: string
  /** The client id that `register` returned, or the URL of the agent's Client ID Metadata Document. */
  readonly client_id: string
  /** Absent for an agent with keys. */
  readonly client_secret?: string
}

const LOOPBACK_HOST = /^(localhost|127(\.\d+){3}|\[::1\])$/

/**
 * Parses an origin.
 *
 * @throws {TypeError} unless the text is only an origin, with `https:` or a loopback host
 */
export function parseSecureOrigin(text: string): string {
  const url = new URL(text)
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && LOOPBACK_HOST.test(url.hostname)))
    throw new TypeError('The origin is not https: secrets and messages would be sent unencrypted.')
  if (url.href !== `${url.origin}/`)
    throw new TypeError(`${url.origin} is the origin; leave out what follows it.`)
  return url.origin
}

/** Creates credentials from an object that may have further members. */
export const createCredentials = (
  origin: string,
  { client_id, client_secret }: Pick<Credentials, 'client_id' | 'client_secret'>,
): Credentials => Object.freeze({ origin, client_id, ...(client_secret !== undefined && { client_secret }) })
