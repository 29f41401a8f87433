import { randomBytes } from 'node:crypto'
import { rmSync, statfsSync, statSync } from 'node:fs'
import { readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { TestProject } from 'vitest/node'
import { stopAbandonedServer, useEmbeddedPostgres } from '../src/embedded/embedded-postgres.ts'
import { abortServer, POLL_MS, runningServer } from '../src/embedded/postmaster.ts'
import { serverUser } from '../src/embedded/server-user.ts'
import { beginTestRun } from './test-run.ts'

const FOLDER = /^plainpath-test-[0-9a-f]{8}(?:\.new-\w+)?$/
/** No server takes so long to start, so one that is not in use by then is nobody's. */
const ABANDONED_AFTER_MS = 120_000
/** The databases live as long as the run. Each worker may have several instances of both apps, with their pools. */
const SETTINGS = {
  fsync: 'off',
  synchronous_commit: 'off',
  full_page_writes: 'off',
  max_connections: '300',
}

/** Vitest `globalSetup`: gives a project's tests an embedded server of their own, in a temporary folder. */
export default async function setUp(project: TestProject): Promise<() => Promise<void>> {
  await removeAbandoned()
  await using resources = new AsyncDisposableStack()
  const wanted = path.join(placeOfData(), `plainpath-test-${randomBytes(4).toString('hex')}`)
  const server = await useEmbeddedPostgres({ dir: wanted, settings: SETTINGS })
  resources.defer(() => rm(server.dir, { recursive: true, force: true }))
  resources.use(server)
  const { [Symbol.asyncDispose]: end, ...testPostgres } = await beginTestRun(
    { adminUrl: server.url, origin: 'embedded' },
    console,
  )
  resources.defer(end)
  project.provide('testPostgres', testPostgres)
  const kept = resources.move()
  const atExit = () => removeAtOnce(server.dir)
  process.once('exit', atExit)
  return async () => {
    await kept.disposeAsync()
    process.off('exit', atExit)
  }
}

const MEMORY = '/dev/shm'
const NEEDED_BYTES = 4 * 1024 ** 3

/** Memory where there is enough, since a disk that is busy for a second is as slow as the apps let no store be. */
function placeOfData(): string {
  try {
    const { bavail, bsize } = statfsSync(MEMORY)
    return bavail * bsize > NEEDED_BYTES ? MEMORY : tmpdir()
  } catch {
    return tmpdir()
  }
}

/** An interrupted run tears nothing down, and when the process exits nothing can be awaited. */
function removeAtOnce(dir: string): void {
  abortServer(dir)
  const clock = new Int32Array(new SharedArrayBuffer(4))
  for (let waits = 0; waits < 100 && runningServer(dir); waits++) Atomics.wait(clock, 0, 0, POLL_MS)
  rmSync(dir, { recursive: true, force: true })
}

/** What a killed run of ours left behind. */
async function removeAbandoned(): Promise<void> {
  const user = serverUser()?.uid ?? process.getuid?.()
  const places = [...new Set([placeOfData(), tmpdir()])]
  const entries = await Promise.all(
    places.map(async (place) => (await readdir(place)).map((name) => path.join(place, name))),
  )
  for (const folder of entries.flat().filter((entry) => FOLDER.test(path.basename(entry)))) {
    const found = statSync(folder, { throwIfNoEntry: false })
    if (!found || found.uid !== user || found.mtimeMs > Date.now() - ABANDONED_AFTER_MS) continue
    if (await stopAbandonedServer(folder)) await rm(folder, { recursive: true, force: true })
  }
}
