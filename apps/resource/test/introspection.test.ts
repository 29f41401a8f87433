import { serviceUrls } from '@plainpath/metadata'
import { AGENT, CLIENT_ID, CLIENT_SECRET, startFakeAuthorizationServer } from './fake-authorization-server.ts'
import { describeBoundIntrospection, describeIntrospection } from './introspection.contract.ts'

const issuer = 'https://plainpath.example'

const NAME = 'the authorization server of these tests'

async function open() {
  const server = await startFakeAuthorizationServer(issuer)
  const revokedToken = server.issue()
  const jkt = 'k'.repeat(43)
  server.revoke(revokedToken)
  return {
    url: server.url,
    issuer,
    base: serviceUrls(issuer).base,
    clientId: CLIENT_ID,
    clientSecret: CLIENT_SECRET,
    agentId: AGENT,
    activeToken: server.issue(),
    boundToken: server.issueBound(jkt),
    jkt,
    revokedToken,
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  }
}

describeIntrospection(NAME, open)
describeBoundIntrospection(NAME, open)
