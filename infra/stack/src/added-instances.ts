import { once } from 'node:events'
import { chmod, rm } from 'node:fs/promises'
import { connect, createServer, type Socket } from 'node:net'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { LocalError } from '@plainpath/local/settings'
import type { AppName } from '@plainpath/metadata'
import { z } from 'zod'

/*
 * `npm run stack -- --add APP` connects to a Unix socket in the folder of the stack and writes the name of the app. The stack
 * starts the instance, and stops it when the other side closes its half of the connection. It responds with one message per line.
 */

/**
 * A message of the stack. `progress` may come several times. The last message is `stopped`, or `refused` if starting or stopping
 * the instance fails.
 */
const Message = z.strictObject({ kind: z.enum(['progress', 'refused', 'stopped']), text: z.string() })
type Message = z.output<typeof Message>

/** The maximum length of a Unix socket path on Linux (unix(7)). */
const MAX_SOCKET_PATH_BYTES = 107

/**
 * Returns the path of the socket, relative if that is shorter.
 *
 * @throws {LocalError} when the system does not accept a path of that length
 */
function toSocketPath(folder: string): string {
  const absolute = path.join(folder, 'stack.sock')
  const relative = path.relative(process.cwd(), absolute)
  const shorterPath = relative.length < absolute.length ? relative : absolute
  if (Buffer.byteLength(shorterPath) > MAX_SOCKET_PATH_BYTES)
    throw new LocalError(
      `The path ${folder} is too long for the socket of a stack. Set DATA_DIR to a shorter path.`,
    )
  return shorterPath
}

/**
 * Connects to the stack that runs on the data in `folder`.
 *
 * @returns undefined if none runs; every error of the connection counts as that
 */
async function connectToStack(folder: string): Promise<Socket | undefined> {
  const socket = connect({ path: toSocketPath(folder), allowHalfOpen: true })
  try {
    await once(socket, 'connect')
    return socket
  } catch {
    return undefined
  }
}

/** Returns whether a stack runs on the data in `folder`. */
export async function isStackRunning(folder: string): Promise<boolean> {
  const socket = await connectToStack(folder)
  socket?.destroy()
  return socket !== undefined
}

/** An instance that `--add` started. Disposing stops it. */
interface AddedInstance extends AsyncDisposable {
  /** A sentence that says where the instance listens. */
  readonly announcement: string
}

/**
 * Listens for `--add` and starts an instance for each request. Disposing stops them all.
 *
 * @param add starts an instance
 */
export async function serveAdditions(
  folder: string,
  add: (app: AppName) => Promise<AddedInstance>,
): Promise<AsyncDisposable> {
  const file = toSocketPath(folder)
  // A killed stack leaves its socket file.
  await rm(file, { force: true })
  const stopping = new AbortController()
  const openConnections = new Set<Promise<void>>()
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    const connection = serveAddition(socket, add, stopping.signal).finally(() =>
      openConnections.delete(connection),
    )
    openConnections.add(connection)
  })
  server.listen(file)
  await once(server, 'listening')
  await chmod(file, 0o600)
  return {
    async [Symbol.asyncDispose]() {
      server.close()
      stopping.abort()
      await Promise.all(openConnections)
    },
  }
}

/** Serves one connection: starts an instance, and stops it when the other side closes its half or the stack stops. */
async function serveAddition(
  socket: Socket,
  add: (app: AppName) => Promise<AddedInstance>,
  signal: AbortSignal,
): Promise<void> {
  const send = (message: Message) => void socket.write(`${JSON.stringify(message)}\n`)
  const stopRequest = Promise.withResolvers<void>()
  for (const event of ['end', 'close', 'error']) socket.on(event, () => stopRequest.resolve())
  signal.addEventListener('abort', () => stopRequest.resolve())
  try {
    const app = await readApp(socket, stopRequest.promise)
    if (!app) return
    {
      await using instance = await add(app)
      send({ kind: 'progress', text: instance.announcement })
      await stopRequest.promise
      const reason = signal.aborted ? 'The stack is stopping. ' : ''
      send({
        kind: 'progress',
        text: `${reason}The instance is leaving the gateway and finishing its requests`,
      })
    }
    send({ kind: 'stopped', text: 'Stopped' })
  } catch (error) {
    send({ kind: 'refused', text: (error as Error).message })
  } finally {
    socket.end()
  }
}

/** A longer first line cannot be the name of an app. */
const MAX_LINE_CHARACTERS = 99

/**
 * Reads the first line, and ignores what follows.
 *
 * @returns undefined if the line names no app or is too long, or if `stopRequested` resolves first
 */
async function readApp(socket: Socket, stopRequested: Promise<void>): Promise<AppName | undefined> {
  const line = Promise.withResolvers<string>()
  let received = ''
  socket.setEncoding('utf8').on('data', (text: string) => {
    received = `${received}${text}`.slice(0, MAX_LINE_CHARACTERS + 1)
    if (received.includes('\n') || received.length > MAX_LINE_CHARACTERS) line.resolve(received)
  })
  const name = (await Promise.race([line.promise, stopRequested.then(() => '')])).split('\n')[0]
  return name === 'auth' || name === 'resource' ? name : undefined
}

/**
 * Requests one more instance from the stack on `folder`, and prints the stack's messages until the instance has stopped.
 *
 * @param options.stopRequested resolves when the instance should stop
 * @returns the exit code: 0 if the instance ran and stopped normally
 */
export async function addToStack(
  app: AppName,
  options: {
    folder: string
    stopRequested: Promise<unknown>
    print: (text: string) => void
    printError: (text: string) => void
  },
): Promise<number> {
  const { folder, print, printError } = options
  const socket = await connectToStack(folder)
  if (!socket) {
    printError(
      `No stack is running in ${folder}. Start one with npm run stack, or set DATA_DIR to the folder of the running stack.`,
    )
    return 1
  }
  // Without a listener, an error after the last line would end this process with a stack trace.
  socket.on('error', () => {})
  socket.write(`${app}\n`)
  void options.stopRequested.then(() => socket.end())
  let lastKind: Message['kind'] = 'progress'
  for await (const line of createInterface({ input: socket })) {
    const { kind, text } = Message.parse(JSON.parse(line))
    if (kind === 'refused') printError(text)
    else print(text)
    lastKind = kind
  }
  if (lastKind === 'progress') printError('The stack ended without stopping the instance.')
  return lastKind === 'stopped' ? 0 : 1
}
