import { expect, test } from 'vitest'
import {
  createResourceServer,
  hashSecret,
  ResourceServers,
  verifyResourceServer,
} from './resource-servers.ts'

const AUDIENCE = 'https://plainpath.example/api'
const { server, secret } = createResourceServer('rs_api', AUDIENCE)

test('authenticates a resource server by its secret, and stores only the hash of the secret', () => {
  expect(secret).toMatch(/^rss_[A-Za-z0-9_-]{43}$/)
  expect(JSON.stringify(server)).not.toContain(secret.slice('rss_'.length))
  expect(verifyResourceServer([server], { clientId: 'rs_api', secret })).toEqual({
    server,
    digest: server.secrets[0],
  })
})

test('accepts two secrets during a rotation', () => {
  const newer = createResourceServer('rs_api', AUDIENCE)
  const rotatingServer = { ...server, secrets: [...server.secrets, ...newer.server.secrets] }
  for (const validSecret of [secret, newer.secret]) {
    const verified = verifyResourceServer([rotatingServer], { clientId: 'rs_api', secret: validSecret })
    expect(verified?.digest).toBe(hashSecret(validSecret))
  }
})

test.for([
  ['an unknown id', 'rs_other', secret],
  // No secret ends in `_`: the last base64url character of 32 bytes has two zero bits.
  ['a wrong secret', 'rs_api', `${secret.slice(0, -1)}_`],
  ['a secret with another character at the end', 'rs_api', `${secret}x`],
  ['a secret without its last character', 'rs_api', secret.slice(0, -1)],
  ['the stored hash instead of the secret', 'rs_api', server.secrets[0] ?? ''],
  // `verifyResourceServer` compares the secret of an unknown id with this placeholder.
  ['an unknown id with the placeholder secret', 'rs_other', 'no resource server has this secret'],
  ['an id that is a property of every object', 'constructor', secret],
] satisfies [string, string, string][])('rejects %s', ([, clientId, presentedSecret]) => {
  expect(verifyResourceServer([server], { clientId, secret: presentedSecret })).toBeUndefined()
})

test.for([
  ['no entry', []],
  ['the id of an agent', [{ ...server, client_id: 'agt_AAAAAAAAAAAAAAAAAAAAAA' }]],
  ['two entries with the same id', [server, server]],
  ['a secret that is not hashed', [{ ...server, secrets: [secret] }]],
  ['no secret', [{ ...server, secrets: [] }]],
  ['three secrets', [{ ...server, secrets: [1, 2, 3].map(() => server.secrets[0]) }]],
  ['an unknown member', [{ ...server, admin: true }]],
  ['an audience that is not a URL', [{ ...server, audience: 'api' }]],
])('rejects a file with %s', ([, content]) => {
  expect(ResourceServers.safeParse(content).success).toBe(false)
})
