import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'

/** The range is below the ephemeral ports, which the system assigns to outgoing connections (on Linux from 32,768). */
const PORTS = { from: 20_000, count: 12_000 }

/**
 * Finds free ports and reserves them until this process ends: later calls, in this or another process of the user,
 * return other ports, even before anything listens. Call it if addresses must be known before processes start.
 *
 * @throws {Error} if it finds too few ports
 */
export async function reserveFreePorts(count: number): Promise<number[]> {
  const servers: Server[] = []
  try {
    for (let tryCount = 0; servers.length < count; tryCount += 1) {
      if (tryCount > PORTS.count) throw new Error(`there are no ${count} free ports`)
      const server = createServer().listen(PORTS.from + randomInt(PORTS.count), '127.0.0.1')
      const isListening = await once(server, 'listening').then(
        () => true,
        () => false,
      )
      if (!isListening) continue
      if (tryReserve(findPort(server))) servers.push(server)
      else server.close()
    }
    return servers.map(findPort)
  } finally {
    for (const server of servers) server.close()
    await Promise.all(servers.map((server) => once(server, 'close')))
  }
}

const findPort = (server: Server) => (server.address() as AddressInfo).port

/**
 * Reserves a port: writes this process's id to a file that is named after the port, unless the file contains the id of a
 * running process. The caller listens on the port, so no other process reserves it at the same time.
 *
 * @returns false if this or another running process has already reserved the port
 */
function tryReserve(port: number): boolean {
  const folder = path.join(tmpdir(), `plainpath-ports-${process.getuid?.() ?? 0}`)
  const file = path.join(folder, String(port))
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  if (isRunning(readOwner(file))) return false
  writeFileSync(file, String(process.pid))
  return true
}

/** Reads the id of the process that reserved a port; 0 for none. */
function readOwner(file: string): number {
  try {
    return Number(readFileSync(file, 'utf8'))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return 0
    throw error
  }
}

function isRunning(pid: number): boolean {
  if (pid === process.pid) return true
  if (pid <= 0) return false
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
