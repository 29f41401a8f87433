import { execFile } from 'node:child_process'
import { chmod, chown, mkdir, open, rename, rm, stat, statfs, symlink } from 'node:fs/promises'
import path from 'node:path'
import { promisify } from 'node:util'
import type { FaultCase } from './fault-case.ts'
import type { FaultyStack } from './faulty-stack.ts'
import { createHttpClient } from './http-client.ts'
import type { Ledger } from './ledger.ts'
import { getOperation } from './operations.ts'

const run = promisify(execFile)
/** More rows than fit into the pages that the tables have already allocated. */
const MAX_REGISTRATIONS = 400
/** More 16 MiB segments than the server can have preallocated on the disk. */
const MAX_SEGMENTS = 40

/** Faults of full disks. The disks are small file systems in memory, which only root can mount. */
export const DISK_FAULTS: readonly FaultCase[] = [
  {
    name: 'Postgres: the disk with the agents is full (53100)',
    numbers: ['F-09'],
    components: ['auth database'],
    isManual: true,
    refusedOperations: ['register'],
    async prepare(system) {
      const disk = await mountSmallDisk(system, 'agents', '2m')
      await system.admin.auth.query(`create tablespace small location '${disk}'`)
      for (const table of ['agents', 'agent_secrets']) {
        // Without this, new rows would first use the free space that deleted rows leave.
        await system.admin.auth.query(`vacuum full ${table}`)
        await system.admin.auth.query(`alter table ${table} set tablespace small`)
      }
    },
    async begin(system, ledger) {
      await fillDisk(path.join(system.folder, 'agents'))
      await registerUntilRefused(system, ledger)
    },
    end: (system) => rm(toFillerPath(path.join(system.folder, 'agents'))),
    async finish(system) {
      for (const table of ['agents', 'agent_secrets'])
        await system.admin.auth.query(`alter table ${table} set tablespace pg_default`)
      await system.admin.auth.query('drop tablespace small')
      await run('umount', ['-l', path.join(system.folder, 'agents')])
      return []
    },
  },
  {
    name: 'Postgres: the disk for the write-ahead log is full (PANIC)',
    numbers: ['F-10'],
    components: ['auth database', 'api database'],
    isManual: true,
    refusedOperations: ['register', 'join'],
    failingCheck: 'database',
    async prepare(system) {
      const disk = await mountSmallDisk(system, 'wal', '160m')
      await moveLog(system, disk)
    },
    async begin(system) {
      await fillDisk(path.join(system.folder, 'wal'))
      await writeUntilPanic(system)
    },
    async end(system) {
      await rm(toFillerPath(path.join(system.folder, 'wal')))
      await system.postgres.start()
    },
    async finish(system) {
      await moveLog(system, undefined)
      await run('umount', ['-l', path.join(system.folder, 'wal')])
      return []
    },
  },
]

/**
 * Mounts a file system in memory to which the database server can write. Returns its folder.
 *
 * @param size such as `2m`
 */
async function mountSmallDisk(system: FaultyStack, name: string, size: string): Promise<string> {
  const disk = path.join(system.folder, name)
  await mkdir(disk)
  await run('mount', ['-t', 'tmpfs', '-o', `size=${size}`, 'tmpfs', disk])
  // If the fault has run to its end, `finish` has already unmounted the disk, and `umount` fails.
  system.defer(async () => void (await run('umount', ['-l', disk]).catch(() => undefined)))
  // The server may run as another user than this process.
  const { uid, gid } = await stat(system.postgres.dir)
  await chown(disk, uid, gid)
  await chmod(disk, 0o700)
  return disk
}

const toFillerPath = (disk: string) => path.join(disk, 'filler')

/** Fills a disk with one file, until no block is free. */
async function fillDisk(disk: string): Promise<void> {
  const { bavail, bsize } = await statfs(disk)
  await using file = await open(toFillerPath(disk), 'w')
  // The server also writes to the disk, so it may be full before the loop ends.
  try {
    for (let blocksLeft = bavail; blocksLeft > 0; blocksLeft -= 1) await file.write(Buffer.alloc(bsize, 1))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
  }
}

/** Registers agents through the service until it refuses one. The ledger records the acknowledged agents. */
async function registerUntilRefused({ stack }: FaultyStack, ledger: Ledger): Promise<void> {
  using client = createHttpClient(stack.origin)
  for (let registrations = 0; registrations < MAX_REGISTRATIONS; registrations += 1) {
    const attempt = getOperation('register').prepare(ledger)
    const response = attempt && (await client.send(attempt.request))
    if (!response || response.status === 503) return
    attempt.check(response)
  }
}

/** Fills write-ahead log segments until the server panics, which fails the query. */
async function writeUntilPanic({ admin }: FaultyStack): Promise<void> {
  for (let segments = 0; segments < MAX_SEGMENTS; segments += 1) {
    try {
      await admin.server.query(`select pg_logical_emit_message(true, 'fault', 'x')`)
      await admin.server.query('select pg_switch_wal()')
    } catch {
      return
    }
  }
}

/**
 * Stops the server, moves its write-ahead log, and starts the server again.
 *
 * @param disk the new folder; undefined moves the log back into the data folder
 */
async function moveLog({ postgres }: FaultyStack, disk: string | undefined): Promise<void> {
  const logFolder = path.join(postgres.dir, 'pg_wal')
  await postgres.stop('SIGINT')
  const oldFolder = `${logFolder}.before`
  await rename(logFolder, oldFolder)
  if (disk === undefined) await mkdir(logFolder, { mode: 0o700 })
  else await symlink(disk, logFolder)
  // The slash at the end of a path makes the programs follow the symbolic link.
  await run('cp', ['-a', `${oldFolder}/.`, `${logFolder}/`])
  await run('chown', ['-R', '--reference', postgres.dir, `${logFolder}/`])
  await rm(oldFolder, { recursive: true })
  await postgres.start()
}
