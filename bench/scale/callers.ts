import { type Connection, openConnection } from '../load/connection.ts'

/*
 * Callers at different loopback addresses. The gateway passes on the address of the client, and ignores the header with which other
 * measurements simulate many clients (`X-Forwarded-For`).
 */

/** Opens a connection from one fixed address. @param index from 0 */
export const openCaller = (port: number, index: number): Connection =>
  openConnection(port, `127.1.0.${index + 1}`)

/** How many requests a caller sends before another one takes its place. */
export const REQUESTS_PER_CALLER = 8

/** Opens a connection whose caller changes after `REQUESTS_PER_CALLER` requests. No address is used by two callers. */
export function openChangingCaller(port: number): Connection {
  let connection: Connection | undefined
  let sentCount = 0
  return {
    send(request, onResponse) {
      if (sentCount % REQUESTS_PER_CALLER === 0) {
        connection?.[Symbol.dispose]()
        connection = openConnection(port, takeAddress())
      }
      sentCount += 1
      connection?.send(request, onResponse)
    },
    [Symbol.dispose]: () => connection?.[Symbol.dispose](),
  }
}

let addressCount = 0

/** Returns the next unused loopback address, from 127.2.0.1 on. Addresses below are those of `openCaller`. */
function takeAddress(): string {
  addressCount += 1
  return `127.${2 + (addressCount >> 16)}.${(addressCount >> 8) & 255}.${addressCount & 255}`
}
