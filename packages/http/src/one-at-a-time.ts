import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

type Handler = (request: IncomingMessage, response: ServerResponse) => unknown

/**
 * Gives the requests of one connection to their handlers one after the other, and none after an answer that ends the
 * connection (RFC 9112 §9.3.2, §9.6). Node alone would begin them all as they are read, and carry out what its sender
 * cannot be told of.
 *
 * @returns what makes a handler wait for its turn; all handlers of one server take turns with each other
 */
export function oneAtATime(): (handle: Handler) => Handler {
  /** What waits on a connection on which something is being answered. */
  const waiting = new WeakMap<Socket, (() => void)[]>()
  const next = (socket: Socket) => {
    const begin = socket.writable ? waiting.get(socket)?.shift() : undefined
    if (begin) begin()
    else waiting.delete(socket)
  }
  return (handle) => (request, response) => {
    const { socket } = request
    if (!socket.writable) return
    const begin = () => {
      response.on('close', () => next(socket))
      // What could not be read to its end was refused while it waited.
      if (!response.writableEnded) handle(request, response)
    }
    const queue = waiting.get(socket)
    if (queue) return void queue.push(begin)
    waiting.set(socket, [])
    begin()
  }
}
