import { randomBytes } from 'node:crypto'
import { rmSync, statfsSync, statSync } from 'node:fs'
import { readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { TestProject } from 'vitest/node'
import { stopAbandonedServer, useEmbeddedPostgres } from '../src/embedded/embedded-postgres.ts'
import { abortServer, findRunningServer, POLL_MS } from '../src/embedded/postmaster.ts'
import { getServerUser } from '../src/embedded/server-user.ts'
import { beginTestRun } from './test-run.ts'

/** Matches the data folder of a run, and the folder with the suffix `.new-…` in which initdb creates it. */
const DATA_FOLDER = /^plainpath-test-[0-9a-f]{8}(?:\.new-\w+)?$/
/** No server takes this long to start, so an older folder is abandoned if its server is not in use. */
const ABANDONED_AFTER_MS = 120_000
/** The databases exist only during the run, so they need not be durable. Each worker may run several apps. */
const SETTINGS = {
  fsync: 'off',
  synchronous_commit: 'off',
  full_page_writes: 'off',
  max_connections: '300',
  // Measured: without these, the tests take 4 % more CPU time.
  autovacuum: 'off',
  wal_level: 'minimal',
  max_wal_senders: '0',
  shared_buffers: '256MB',
}

/** Vitest `globalSetup`: starts an embedded server for a project's tests, in a temporary folder. */
export default async function setUp(project: TestProject): Promise<() => Promise<void>> {
  await removeAbandoned()
  await using resources = new AsyncDisposableStack()
  const requestedDir = path.join(chooseDataFolder(), `plainpath-test-${randomBytes(4).toString('hex')}`)
  const server = await useEmbeddedPostgres({ dir: requestedDir, settings: SETTINGS })
  resources.defer(() => rm(server.dir, { recursive: true, force: true }))
  resources.use(server)
  const { [Symbol.asyncDispose]: endRun, ...testPostgres } = await beginTestRun(
    { adminUrl: server.url, source: 'embedded' },
    console,
    { isServerTemporary: true },
  )
  resources.defer(endRun)
  project.provide('testPostgres', testPostgres)
  const runResources = resources.move()
  const removeServer = () => removeServerSync(server.dir)
  // For a process that exits before Vitest has called the function below.
  process.once('exit', removeServer)
  return async () => {
    await runResources.disposeAsync()
    process.off('exit', removeServer)
  }
}

const MEMORY_FOLDER = '/dev/shm'
const NEEDED_BYTES = 4 * 1024 ** 3

/** Chooses memory if enough is free. On a disk that is busy for a second, statements would exceed the apps' time limits. */
function chooseDataFolder(): string {
  try {
    const { bavail, bsize } = statfsSync(MEMORY_FOLDER)
    return bavail * bsize > NEEDED_BYTES ? MEMORY_FOLDER : tmpdir()
  } catch {
    return tmpdir()
  }
}

/**
 * Removes the server synchronously, because an exiting process cannot wait for promises. Waits at most 2 s for the server to
 * end.
 */
function removeServerSync(dir: string): void {
  abortServer(dir)
  const sleepBuffer = new Int32Array(new SharedArrayBuffer(4))
  for (let waitCount = 0; waitCount < 100 && findRunningServer(dir); waitCount++)
    Atomics.wait(sleepBuffer, 0, 0, POLL_MS)
  rmSync(dir, { recursive: true, force: true })
}

/** Removes the servers and files that killed runs have left. */
async function removeAbandoned(): Promise<void> {
  const user = getServerUser()?.uid ?? process.getuid?.()
  const parentFolders = [...new Set([chooseDataFolder(), tmpdir()])]
  const paths = await Promise.all(
    parentFolders.map(async (parent) => (await readdir(parent)).map((name) => path.join(parent, name))),
  )
  for (const folder of paths.flat().filter((file) => DATA_FOLDER.test(path.basename(file)))) {
    const stats = statSync(folder, { throwIfNoEntry: false })
    if (!stats || stats.uid !== user || stats.mtimeMs > Date.now() - ABANDONED_AFTER_MS) continue
    if (await stopAbandonedServer(folder)) await rm(folder, { recursive: true, force: true })
  }
}
