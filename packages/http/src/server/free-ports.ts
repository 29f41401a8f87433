import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'

/** Below the ephemeral ports, which the system assigns to outgoing connections (on Linux from 32 768). */
const PORTS = { from: 20_000, count: 12_000 }

/**
 * Finds free ports and reserves them until this process ends: other processes that call this function get other ports, even before
 * anything listens. Used where addresses must be known before the processes start.
 *
 * @throws {Error} if it finds too few
 */
export async function freePorts(count: number): Promise<number[]> {
  const servers: Server[] = []
  try {
    for (let tries = 0; servers.length < count; tries += 1) {
      if (tries > PORTS.count) throw new Error(`there are no ${count} free ports`)
      const server = createServer().listen(PORTS.from + randomInt(PORTS.count), '127.0.0.1')
      const listens = await once(server, 'listening').then(
        () => true,
        () => false,
      )
      if (!listens) continue
      if (reserve(findPort(server))) servers.push(server)
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
 * Writes the id of this process to a file named for the port, unless the file has the id of a running process. The caller listens on
 * the port, so no other process reserves it at the same time.
 *
 * @returns false if another process holds the port
 */
function reserve(port: number): boolean {
  const folder = path.join(tmpdir(), `plainpath-ports-${process.getuid?.() ?? 0}`)
  const file = path.join(folder, String(port))
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  if (isRunning(findHolder(file))) return false
  writeFileSync(file, String(process.pid))
  return true
}

function findHolder(file: string): number {
  try {
    return Number(readFileSync(file, 'utf8'))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return 0
    throw error
  }
}

function isRunning(pid: number): boolean {
  if (pid <= 0 || pid === process.pid) return pid > 0
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
