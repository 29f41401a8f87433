import { readFile } from 'node:fs/promises'
import { formatRequest } from '../load/target.ts'
import type { Stores } from './open-stores.ts'
import { basicAuthorization, FORM_HEADERS, READ_HEADERS } from './send-request.ts'

/** Formats a GET request. */
export const formatRead = (path: string, headers: Readonly<Record<string, string>> = {}) =>
  formatRequest('GET', path, { headers: { ...READ_HEADERS, ...headers } })

/** Formats a GET request with a bearer token. */
export const formatBearerRead = (path: string, token: string) =>
  formatRead(path, { authorization: `Bearer ${token}` })

/** Formats a request for a token with the secret of a client. @param path the path of the token endpoint */
export const formatTokenRequest = (path: string, client: { readonly id: string; readonly secret: string }) =>
  formatRequest('POST', path, {
    headers: { ...FORM_HEADERS, ...basicAuthorization(client.id, client.secret) },
    body: 'grant_type=client_credentials',
  })

/** Formats an introspection request. @param path the path of the introspection endpoint */
export const formatIntrospection = (path: string, headers: Readonly<Record<string, string>>, token: string) =>
  formatRequest('POST', path, { headers: { ...FORM_HEADERS, ...headers }, body: `token=${token}` })

/** Creates a function that formats the introspection of a token as our API sends it: for a signed response (RFC 9701). */
export async function createApiIntrospectionFormatter({
  env,
}: Pick<Stores, 'env'>): Promise<(token: string) => Buffer> {
  const secret = await readFile(env['RESOURCE_CLIENT_SECRET_FILE'] ?? '', 'utf8')
  const headers = {
    ...basicAuthorization(env['RESOURCE_CLIENT_ID'] ?? '', secret.trim()),
    accept: 'application/token-introspection+jwt',
  }
  return (token) => formatIntrospection('/oauth/introspect', headers, token)
}
