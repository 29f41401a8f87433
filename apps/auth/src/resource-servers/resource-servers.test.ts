import { expect, test } from 'vitest'
import {
  createResourceServer,
  hashSecret,
  ResourceServers,
  verifyResourceServer,
} from './resource-servers.ts'

const AUDIENCE = 'https://plainpath.example/api'
const { server, secret } = createResourceServer('rs_api', AUDIENCE)

test('authenticates a resource server by its secret, of which only the hash is stored', () => {
  expect(secret).toMatch(/^rss_[A-Za-z0-9_-]{43}$/)
  expect(JSON.stringify(server)).not.toContain(secret.slice('rss_'.length))
  expect(verifyResourceServer([server], { clientId: 'rs_api', secret })).toEqual({
    server,
    digest: server.secrets[0],
  })
})

test('accepts two secrets during a rotation', () => {
  const next = createResourceServer('rs_api', AUDIENCE)
  const both = { ...server, secrets: [...server.secrets, ...next.server.secrets] }
  for (const each of [secret, next.secret])
    expect(verifyResourceServer([both], { clientId: 'rs_api', secret: each })?.digest).toBe(hashSecret(each))
})

test.for([
  ['an unknown id', 'rs_other', secret],
  ['a wrong secret', 'rs_api', `${secret.slice(0, -1)}_`],
  ['another letter', 'rs_api', `${secret}x`],
  ['one letter less', 'rs_api', secret.slice(0, -1)],
  ['the kept hash as the secret', 'rs_api', server.secrets[0] ?? ''],
  ['an unknown id', 'rs_other', 'no resource server has this secret'],
  ['the name of a member of every object', 'constructor', secret],
] satisfies [string, string, string][])('%s is nobody', ([_why, clientId, presented]) => {
  expect(verifyResourceServer([server], { clientId, secret: presented })).toBeUndefined()
})

test.for([
  ['no entry', []],
  ['an agent id', [{ ...server, client_id: 'agt_AAAAAAAAAAAAAAAAAAAAAA' }]],
  ['an id twice', [server, server]],
  ['a secret in clear', [{ ...server, secrets: [secret] }]],
  ['no secret', [{ ...server, secrets: [] }]],
  ['three secrets', [{ ...server, secrets: [1, 2, 3].map(() => server.secrets[0]) }]],
  ['a member that nobody reads', [{ ...server, admin: true }]],
  ['an audience that is no URL', [{ ...server, audience: 'api' }]],
])('the file may not hold %s', ([_why, content]) => {
  expect(ResourceServers.safeParse(content).success).toBe(false)
})
