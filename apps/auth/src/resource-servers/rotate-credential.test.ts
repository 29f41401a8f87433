import { expect, test } from 'vitest'
import { createResourceServer, type ResourceServer, toFingerprint } from './resource-servers.ts'
import {
  addSecret,
  type CredentialView,
  differsByAtMostOneSecret,
  findLateInstances,
  removeSecret,
} from './rotate-credential.ts'

const AUDIENCE = 'https://plainpath.example/api'
const [one, two] = [
  createResourceServer('rs_api', AUDIENCE).server,
  createResourceServer('rs_api', AUDIENCE).server,
]
const [older = '', newer = ''] = [one.secrets[0], two.secrets[0]]
const [OLDER, NEWER] = [{ which: 'older' }, { which: 'newer' }] as const
const both: ResourceServer = { ...one, secrets: [older, newer] }

/** Two instances that accept both; the newer secret is used, the older one was not for a while. */
const view = (change: Partial<CredentialView> = {}): CredentialView => ({
  servers: [both],
  followers: ['auth-1', 'auth-2'].map((host) => follower(host, [older, newer])),
  secrets: [used(older, 60_000), used(newer, 100)],
  leaseMs: 15_000,
  ...change,
})
const follower = (host: string, digests: string[], seenMsAgo = 1_000) => ({
  host,
  secrets: digests.map((digest) => ({ clientId: 'rs_api', fingerprint: toFingerprint(digest) })),
  problem: undefined,
  seenMsAgo,
})
const used = (digest: string, usedMsAgo: number | undefined) => ({
  clientId: 'rs_api',
  fingerprint: toFingerprint(digest),
  firstSeenMsAgo: 100_000,
  usedMsAgo,
})

test('adds a second secret after the first, and refuses a third', () => {
  expect(addSecret([one], 'rs_api', newer)).toEqual({ ok: true, value: [both] })
  expect(addSecret([both], 'rs_api', newer)).toMatchObject({
    ok: false,
    error: expect.stringContaining('finish'),
  })
  expect(addSecret([one], 'rs_other', newer)).toMatchObject({ ok: false })
})

test('removes the older secret when allowed, and keeps the newer', () => {
  expect(removeSecret(view(), 'rs_api', OLDER)).toEqual({
    ok: true,
    value: [{ ...one, secrets: [newer] }],
  })
})

test('also removes a secret that was never used', () => {
  const secrets = [used(older, undefined), used(newer, 0)]
  expect(removeSecret(view({ secrets }), 'rs_api', OLDER).ok).toBe(true)
})

test.for<[why: string, change: Partial<CredentialView>, says: string]>([
  ['only one secret is valid', { servers: [one] }, 'only one secret'],
  [
    'the client is not in the file',
    { servers: [{ ...both, client_id: 'rs_x' }] },
    'There is no resource server',
  ],
  [
    'the older was used a moment ago',
    { secrets: [used(older, 14_999), used(newer, 0)] },
    'was used 15 s ago',
  ],
  ['nobody used the newer', { secrets: [used(older, 60_000), used(newer, undefined)] }, 'Nobody has used'],
  ['nobody knows of either', { secrets: [] }, 'has been known for 0 s'],
  [
    'the newer came a moment ago',
    { secrets: [used(older, undefined), { ...used(newer, 0), firstSeenMsAgo: 14_900 }] },
    'has been known for 14.9 s. It must be for 15 s',
  ],
  [
    'an instance knows the older only',
    { followers: [follower('auth-1', [older, newer]), follower('auth-2', [older])] },
    'Not every instance has loaded the file yet: auth-2.',
  ],
])('the older stays when %s', ([, change, says]) => {
  expect(removeSecret(view(change), 'rs_api', OLDER)).toEqual({
    ok: false,
    error: expect.stringContaining(says),
  })
})

test('the older credential is removed after a leak although somebody uses it, but not before all know and use the newer one', () => {
  const leaked = { which: 'older', evenIfUsed: true } as const
  const inUse = [used(older, 0), used(newer, 0)]
  expect(removeSecret(view({ secrets: inUse }), 'rs_api', leaked)).toMatchObject({
    ok: true,
    value: [{ secrets: [newer] }],
  })
  const refusals: Partial<CredentialView>[] = [
    { secrets: [used(older, 0), used(newer, undefined)] },
    { secrets: [used(older, 0), { ...used(newer, 0), firstSeenMsAgo: 14_900 }] },
    { secrets: inUse, followers: [follower('auth-1', [older])] },
  ]
  for (const change of refusals) expect(removeSecret(view(change), 'rs_api', leaked).ok).toBe(false)
})

test('ignores an instance that has not reported for a lease', () => {
  const followers = [follower('auth-1', [older, newer]), follower('auth-2', [older], 15_000)]
  expect(findLateInstances(view({ followers }), 'rs_api')).toEqual([])
  expect(removeSecret(view({ followers }), 'rs_api', OLDER).ok).toBe(true)
})

test('cancelling removes the newer secret while only the older one is used', () => {
  expect(removeSecret(view(), 'rs_api', NEWER).ok).toBe(false)
  const secrets = [used(older, 0), used(newer, undefined)]
  expect(removeSecret(view({ secrets }), 'rs_api', NEWER)).toEqual({ ok: true, value: [one] })
})

const third = createResourceServer('rs_api', AUDIENCE).server.secrets[0] ?? ''
const api = (...secrets: string[]): ResourceServer => ({ ...one, secrets })
const other = createResourceServer('rs_other', AUDIENCE).server

test.for<[is: boolean, what: string, served: ResourceServer[], copy: ResourceServer[]]>([
  [true, 'the served list', [api(older)], [api(older)]],
  [true, 'one secret more', [api(older), other], [api(older, newer), other]],
  [true, 'one secret less', [api(older, newer)], [api(newer)]],
  [false, 'another secret', [api(older)], [api(newer)]],
  [false, 'one more that is not beside what is served', [api(third)], [api(older, newer)]],
  [false, 'two others', [api(older, newer)], [api(older, third)]],
  [false, 'another API more', [api(older)], [api(older), other]],
  [false, 'another API less', [api(older), other], [api(older)]],
  [false, 'another secret of another API', [api(older), other], [api(older), { ...other, secrets: [third] }]],
])('%s: a copy with %s is what is served, or one step on', ([is, , served, copy]) => {
  expect(differsByAtMostOneSecret({ served, copy }, 'rs_api')).toBe(is)
})
