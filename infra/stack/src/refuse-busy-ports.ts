import { once } from 'node:events'
import { createServer } from 'node:net'
import { LocalError } from '@plainpath/local/settings'
import type { RequiredPort } from './stack-ports.ts'

/**
 * Checks that no program listens on any of the ports, at any address of this machine. A port that cannot be used for another
 * reason, such as a missing permission, passes: the process that needs it reports the reason when it starts.
 *
 * @param remedy the alternative to stopping the other program, such as `set PORT to another port`
 * @throws {LocalError} with a message for each port that another program uses
 */
export async function refuseBusyPorts(requiredPorts: readonly RequiredPort[], remedy: string): Promise<void> {
  const busyPorts: RequiredPort[] = []
  for (const requiredPort of requiredPorts) if (await isBusy(requiredPort.port)) busyPorts.push(requiredPort)
  if (busyPorts.length === 0) return
  const messages = busyPorts.map(
    ({ port, process }) =>
      `Port ${port} is in use, and ${process} needs it. Stop the program that uses it, or ${remedy}.`,
  )
  throw new LocalError(messages.join('\n'))
}

/** Returns whether another program listens on the port, by listening on it for a moment. */
async function isBusy(port: number): Promise<boolean> {
  const server = createServer().listen(port)
  try {
    await once(server, 'listening')
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EADDRINUSE'
  }
  server.close()
  await once(server, 'close')
  return false
}
