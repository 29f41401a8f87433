import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { createLog, createMetrics } from '@plainpath/http'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openTestStores, type TestStores } from '../../test/open-test-stores.ts'
import { followResourceServers } from './follow-resource-servers.ts'
import { createResourceServerFollowerStore } from './resource-server-follower-store.ts'
import { createResourceServer } from './resource-servers.ts'

const resources = new AsyncDisposableStack()
let stores: TestStores
let folder: string
beforeAll(async () => {
  stores = resources.use(await openTestStores())
  folder = await mkdtemp(path.join(tmpdir(), 'plainpath-servers-'))
  resources.defer(() => rm(folder, { recursive: true }))
})
afterAll(() => resources.disposeAsync())

test('an instance that stops reports the uses since its last report, and is then removed', async () => {
  const { server } = createResourceServer('rs_api', 'https://plainpath.example/api')
  const [digest = ''] = server.secrets
  const file = path.join(folder, 'servers.json')
  await writeFile(file, JSON.stringify([server]))
  const followers = createResourceServerFollowerStore(stores.db)
  const followed = await followResourceServers({
    initialServers: [server],
    file,
    followers,
    // So long that the use below is reported only because the instance stops.
    reportIntervalMs: 3_600_000,
    metrics: createMetrics('test'),
    log: createLog({ service: 'test', write: () => undefined }),
  })
  followed.recordUse({ server, digest })
  expect((await followers.view()).secrets.map(({ usedMsAgo }) => usedMsAgo)).toEqual([undefined])
  await followed[Symbol.asyncDispose]()
  expect(await followers.view()).toMatchObject({
    followers: [],
    secrets: [{ usedMsAgo: expect.any(Number) }],
  })
})
