import { createServiceUrls } from '@plainpath/metadata'
import {
  AGENT_ID,
  CLIENT_ID,
  CLIENT_SECRET,
  startFakeAuthorizationServer,
} from './fake-authorization-server.ts'
import { describeBoundIntrospection, describeIntrospection } from './introspection.contract.ts'

/*
 * Checks that the fake authorization server, which most tests of the API use, fulfils the contract. The tests of the real server
 * are in e2e/in-process/introspection.test.ts.
 */

const ISSUER = 'https://plainpath.example'
const NAME = 'the fake authorization server'

async function startServer() {
  const server = await startFakeAuthorizationServer(ISSUER)
  const revokedToken = server.issue()
  // The length of a SHA-256 thumbprint in base64url.
  const jkt = 'k'.repeat(43)
  server.revoke(revokedToken)
  return {
    url: server.url,
    issuer: ISSUER,
    base: createServiceUrls(ISSUER).base,
    clientId: CLIENT_ID,
    clientSecret: CLIENT_SECRET,
    agentId: AGENT_ID,
    activeToken: server.issue(),
    boundToken: server.issueBound(jkt),
    jkt,
    revokedToken,
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  }
}

describeIntrospection(NAME, startServer)
describeBoundIntrospection(NAME, startServer)
