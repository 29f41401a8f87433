import { readFile } from 'node:fs/promises'
import { formatRequest } from '../load/target.ts'
import type { Stores } from './open-stores.ts'
import { basicAuthorization, FORM_HEADERS, READ_HEADERS } from './send-request.ts'

/** Creates a read. */
export const createRead = (path: string, headers: Readonly<Record<string, string>> = {}) =>
  formatRequest('GET', path, { headers: { ...READ_HEADERS, ...headers } })

/** Creates a read with a bearer token. */
export const createBearerRead = (path: string, token: string) =>
  createRead(path, { authorization: `Bearer ${token}` })

/** Creates a request for a token with the secret of a client. @param path the path of the token endpoint */
export const createTokenRequest = (path: string, client: { readonly id: string; readonly secret: string }) =>
  formatRequest('POST', path, {
    headers: { ...FORM_HEADERS, ...basicAuthorization(client.id, client.secret) },
    body: 'grant_type=client_credentials',
  })

/** Creates an introspection. @param path the path of the introspection endpoint */
export const createIntrospectionRequest = (
  path: string,
  headers: Readonly<Record<string, string>>,
  token: string,
) => formatRequest('POST', path, { headers: { ...FORM_HEADERS, ...headers }, body: `token=${token}` })

/** Returns a function that creates the introspection of a token as our API sends it. */
export async function createIntrospections({ env }: Pick<Stores, 'env'>): Promise<(token: string) => Buffer> {
  const secret = await readFile(env['RESOURCE_CLIENT_SECRET_FILE'] ?? '', 'utf8')
  const headers = {
    ...basicAuthorization(env['RESOURCE_CLIENT_ID'] ?? '', secret.trim()),
    accept: 'application/token-introspection+jwt',
  }
  return (token) => createIntrospectionRequest('/oauth/introspect', headers, token)
}
