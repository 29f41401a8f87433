import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { type AddressInfo, createServer, type Server } from 'node:net'

/** Below the ports that the system itself hands out, to outgoing connections for one (Linux: from 32 768 on). */
const PORTS = { from: 20_000, count: 12_000 }

/** Different ports that were free a moment ago: addresses must be known before the processes start. */
export async function freePorts(count: number): Promise<number[]> {
  const servers: Server[] = []
  while (servers.length < count) {
    const server = createServer().listen(PORTS.from + randomInt(PORTS.count), '127.0.0.1')
    const free = await once(server, 'listening').then(
      () => true,
      () => false,
    )
    if (free) servers.push(server)
  }
  const ports = servers.map((server) => (server.address() as AddressInfo).port)
  for (const server of servers) server.close()
  await Promise.all(servers.map((server) => once(server, 'close')))
  return ports
}
