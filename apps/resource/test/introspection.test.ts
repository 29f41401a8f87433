import { serviceUrls } from '@plainpath/metadata'
import { AGENT, CLIENT_ID, CLIENT_SECRET, startFakeAuthorizationServer } from './fake-authorization-server.ts'
import { describeIntrospection } from './introspection.contract.ts'

const issuer = 'https://plainpath.example'

describeIntrospection('the authorization server of these tests', async () => {
  const server = await startFakeAuthorizationServer(issuer)
  const revokedToken = server.issue()
  server.revoke(revokedToken)
  return {
    url: server.url,
    issuer,
    base: serviceUrls(issuer).base,
    clientId: CLIENT_ID,
    clientSecret: CLIENT_SECRET,
    agentId: AGENT,
    activeToken: server.issue(),
    revokedToken,
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  }
})
