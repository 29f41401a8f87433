import { readFile } from 'node:fs/promises'
import { formatRequest } from '../load/target.ts'
import type { Stores } from './open-stores.ts'
import { basicAuthorization, FORM_HEADERS, READ_HEADERS } from './send-request.ts'

/*
 * Each call formats a request from another simulated client address (`formatRequest`), so a list of requests stands for many
 * clients.
 */

/** Formats a GET request with the headers of measured reads. */
export const formatRead = (path: string, headers: Readonly<Record<string, string>> = {}) =>
  formatRequest('GET', path, { headers: { ...READ_HEADERS, ...headers } })

/** Formats a GET request with the headers of measured reads and a bearer token. */
export const formatBearerRead = (path: string, token: string) =>
  formatRead(path, { authorization: `Bearer ${token}` })

/**
 * Formats a token request (`client_credentials`) of a client that authenticates with HTTP Basic.
 *
 * @param path the path of the token endpoint
 */
export const formatTokenRequest = (path: string, client: { readonly id: string; readonly secret: string }) =>
  formatRequest('POST', path, {
    headers: { ...FORM_HEADERS, ...basicAuthorization(client.id, client.secret) },
    body: 'grant_type=client_credentials',
  })

/**
 * Formats an introspection request.
 *
 * @param path the path of the introspection endpoint
 * @param headers the authorization of the client, and `accept` if the response must have a certain format
 * @param token a token without characters that a form must encode
 */
export const formatIntrospection = (path: string, headers: Readonly<Record<string, string>>, token: string) =>
  formatRequest('POST', path, { headers: { ...FORM_HEADERS, ...headers }, body: `token=${token}` })

/** Creates a function that formats introspection requests like those of our API, which ask for a signed response (RFC 9701). */
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
