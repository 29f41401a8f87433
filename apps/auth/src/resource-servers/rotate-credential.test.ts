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
const withOlder = createResourceServer('rs_api', AUDIENCE).server
const withNewer = createResourceServer('rs_api', AUDIENCE).server
/** The digests of two secrets. */
const older = withOlder.secrets[0] ?? ''
const newer = withNewer.secrets[0] ?? ''
const OLDER = { which: 'older' } as const
const NEWER = { which: 'newer' } as const
const withBoth: ResourceServer = { ...withOlder, secrets: [older, newer] }

/** Creates a view. By default, two instances accept both secrets, and only the newer one was used within the lease. */
const createView = (overrides: Partial<CredentialView> = {}): CredentialView => ({
  servers: [withBoth],
  followers: ['auth-1', 'auth-2'].map((host) => createFollower(host, [older, newer])),
  secrets: [createHistory(older, 60_000), createHistory(newer, 100)],
  leaseMs: 15_000,
  ...overrides,
})
/** Creates the last report of an instance, about the secrets that it accepts. */
const createFollower = (host: string, digests: string[], seenMsAgo = 1_000) => ({
  host,
  secrets: digests.map((digest) => ({ clientId: 'rs_api', fingerprint: toFingerprint(digest) })),
  problem: undefined,
  seenMsAgo,
})
/** Creates the history of a secret that was first accepted 100 s ago. `usedMsAgo` is undefined if nobody has used the secret. */
const createHistory = (digest: string, usedMsAgo: number | undefined) => ({
  clientId: 'rs_api',
  fingerprint: toFingerprint(digest),
  firstSeenMsAgo: 100_000,
  usedMsAgo,
})

test('adds a second secret after the first, and refuses a third one and an unknown client', () => {
  expect(addSecret([withOlder], 'rs_api', newer)).toEqual({ ok: true, value: [withBoth] })
  expect(addSecret([withBoth], 'rs_api', newer)).toMatchObject({
    ok: false,
    error: expect.stringContaining('finish'),
  })
  expect(addSecret([withOlder], 'rs_other', newer)).toMatchObject({ ok: false })
})

test('removes the older secret and keeps the newer one', () => {
  expect(removeSecret(createView(), 'rs_api', OLDER)).toEqual({
    ok: true,
    value: [{ ...withOlder, secrets: [newer] }],
  })
})

test('removes an older secret that was never used', () => {
  const secrets = [createHistory(older, undefined), createHistory(newer, 0)]
  expect(removeSecret(createView({ secrets }), 'rs_api', OLDER).ok).toBe(true)
})

test.for<[condition: string, change: Partial<CredentialView>, message: string]>([
  ['there is only one secret', { servers: [withOlder] }, 'only one secret'],
  [
    'the client is not in the file',
    { servers: [{ ...withBoth, client_id: 'rs_x' }] },
    'There is no resource server',
  ],
  [
    'it was used less than a lease ago',
    { secrets: [createHistory(older, 14_999), createHistory(newer, 0)] },
    'was used 15 s ago',
  ],
  [
    'the newer one was never used',
    { secrets: [createHistory(older, 60_000), createHistory(newer, undefined)] },
    'Nobody has used',
  ],
  ['no instance has accepted either secret', { secrets: [] }, 'has been known for 0 s'],
  [
    'the newer one was first accepted less than a lease ago',
    { secrets: [createHistory(older, undefined), { ...createHistory(newer, 0), firstSeenMsAgo: 14_900 }] },
    'has been known for 14.9 s. It must have been known for 15 s',
  ],
  [
    'an instance accepts only the older one',
    { followers: [createFollower('auth-1', [older, newer]), createFollower('auth-2', [older])] },
    'Not every instance has loaded the file yet: auth-2.',
  ],
])('keeps the older secret if %s', ([, change, message]) => {
  expect(removeSecret(createView(change), 'rs_api', OLDER)).toEqual({
    ok: false,
    error: expect.stringContaining(message),
  })
})

test('evenIfUsed removes an older secret in use, but not before the newer one can replace it', () => {
  const evenIfUsed = { which: 'older', evenIfUsed: true } as const
  const inUse = [createHistory(older, 0), createHistory(newer, 0)]
  expect(removeSecret(createView({ secrets: inUse }), 'rs_api', evenIfUsed)).toMatchObject({
    ok: true,
    value: [{ secrets: [newer] }],
  })
  const refusals: Partial<CredentialView>[] = [
    { secrets: [createHistory(older, 0), createHistory(newer, undefined)] },
    { secrets: [createHistory(older, 0), { ...createHistory(newer, 0), firstSeenMsAgo: 14_900 }] },
    { secrets: inUse, followers: [createFollower('auth-1', [older])] },
  ]
  for (const change of refusals) expect(removeSecret(createView(change), 'rs_api', evenIfUsed).ok).toBe(false)
})

test('ignores an instance that has not reported for a lease', () => {
  const followers = [createFollower('auth-1', [older, newer]), createFollower('auth-2', [older], 15_000)]
  expect(findLateInstances(createView({ followers }), 'rs_api')).toEqual([])
  expect(removeSecret(createView({ followers }), 'rs_api', OLDER).ok).toBe(true)
})

test('cancelling removes the newer secret unless it was ever used', () => {
  const usedLongAgo = [createHistory(older, 0), createHistory(newer, 90_000)]
  expect(removeSecret(createView({ secrets: usedLongAgo }), 'rs_api', NEWER)).toEqual({
    ok: false,
    error: expect.stringContaining('cannot be called off'),
  })
  const secrets = [createHistory(older, 0), createHistory(newer, undefined)]
  expect(removeSecret(createView({ secrets }), 'rs_api', NEWER)).toEqual({ ok: true, value: [withOlder] })
})

const thirdDigest = createResourceServer('rs_api', AUDIENCE).server.secrets[0] ?? ''
const createApi = (...secrets: string[]): ResourceServer => ({ ...withOlder, secrets })
const otherServer = createResourceServer('rs_other', AUDIENCE).server

test.for<[result: boolean, difference: string, served: ResourceServer[], copy: ResourceServer[]]>([
  [true, 'the served content', [createApi(older)], [createApi(older)]],
  [true, 'a second secret', [createApi(older), otherServer], [createApi(older, newer), otherServer]],
  [true, 'one of two secrets removed', [createApi(older, newer)], [createApi(newer)]],
  [false, 'the secret replaced', [createApi(older)], [createApi(newer)]],
  [false, 'two other secrets', [createApi(thirdDigest)], [createApi(older, newer)]],
  [false, 'one of two secrets replaced', [createApi(older, newer)], [createApi(older, thirdDigest)]],
  [false, 'another API added', [createApi(older)], [createApi(older), otherServer]],
  [false, 'another API removed', [createApi(older), otherServer], [createApi(older)]],
  [
    false,
    'the secret of another API replaced',
    [createApi(older), otherServer],
    [createApi(older), { ...otherServer, secrets: [thirdDigest] }],
  ],
])('differsByAtMostOneSecret returns %s for a copy with %s', ([result, , served, copy]) => {
  expect(differsByAtMostOneSecret({ served, copy }, 'rs_api')).toBe(result)
})
