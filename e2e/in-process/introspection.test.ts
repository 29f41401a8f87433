import { readFileSync } from 'node:fs'
import { loadConfig } from '@plainpath/auth/config'
import { openAuth } from '@plainpath/auth/wire'
import { createLog, type RequestHandler, serve } from '@plainpath/http'
import { TEST_SERVER_OPTIONS } from '@plainpath/http/testing/test-server-options'
import { createServiceUrls } from '@plainpath/metadata'
import { describeIntrospection } from '@plainpath/resource/introspection-contract'
import { openSystemEnvironment } from '../system-environment.ts'

/** The real authorization server must fulfil the same contract as the fake server that the API's tests use. */
describeIntrospection('the authorization server', async () => {
  await using opening = new AsyncDisposableStack()
  // The server listens before auth opens, because the origin in the settings of auth contains its port.
  let handler: RequestHandler = (_request, response) => response.writeHead(503).end()
  const server = opening.use(
    await serve((request, response) => handler(request, response), TEST_SERVER_OPTIONS),
  )
  const urls = createServiceUrls(`http://localhost:${server.port}`)
  const { env, dependencies } = opening.use(await openSystemEnvironment(urls.origin))
  const log = createLog({ service: 'auth', write: () => {} })
  const auth = opening.use(await openAuth(loadConfig(env), { log, now: () => new Date(), ...dependencies }))
  handler = auth.publicApp.callback()
  const internal = opening.use(await serve(auth.internalApp.callback(), TEST_SERVER_OPTIONS))

  const agent = (await (await fetch(urls.register, { method: 'POST' })).json()) as Record<string, string>
  const agentId = agent['client_id'] ?? ''
  const authorization = `Basic ${Buffer.from(`${agentId}:${agent['client_secret']}`).toString('base64')}`
  const post = (url: string, form: Record<string, string>) =>
    fetch(url, { method: 'POST', headers: { authorization }, body: new URLSearchParams(form) })
  const issueToken = async () => {
    const tokenResponse = await (await post(urls.token, { grant_type: 'client_credentials' })).json()
    return (tokenResponse as { access_token: string }).access_token
  }
  const [activeToken, revokedToken] = [await issueToken(), await issueToken()]
  await post(urls.revoke, { token: revokedToken })
  const resources = opening.move()
  return {
    url: internal.url,
    issuer: urls.origin,
    base: urls.base,
    clientId: env['RESOURCE_CLIENT_ID'] ?? '',
    clientSecret: readFileSync(env['RESOURCE_CLIENT_SECRET_FILE'] ?? '', 'utf8').trim(),
    agentId,
    activeToken,
    revokedToken,
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  }
})
