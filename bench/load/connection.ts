import { connect, type Socket } from 'node:net'
import { readAnswer } from './read-answer.ts'

/** What came of a request: a status, or 0 when no answer could be read. */
type Answered = (status: number) => void

/** One kept connection, with at most one request under way. It is made anew when the server ends it. */
export interface Connection extends Disposable {
  /** The bytes of the whole request. */
  send(request: Buffer, answered: Answered): void
}

export function openConnection(port: number): Connection {
  let socket: Socket | undefined
  let waiting: Answered | undefined
  let received: Buffer | undefined

  function over(status: number): void {
    const answered = waiting
    waiting = undefined
    received = undefined
    answered?.(status)
  }

  function open(): Socket {
    const opened = connect({ port, host: '127.0.0.1', noDelay: true })
    const lost = () => {
      if (socket !== opened) return
      socket = undefined
      over(0)
    }
    opened.on('error', lost).on('close', lost)
    opened.on('data', (chunk) => {
      if (socket !== opened || !waiting) return
      received = received ? Buffer.concat([received, chunk]) : chunk
      const answer = readAnswer(received)
      if (answer.kind === 'partial') return
      const ended = answer.kind === 'unreadable' || answer.closes
      if (ended) socket = undefined
      over(answer.kind === 'whole' ? answer.status : 0)
      if (ended) opened.destroy()
    })
    return opened
  }

  return {
    send(request, answered) {
      if (waiting) throw new Error('one request at a time')
      waiting = answered
      socket ??= open()
      socket.write(request)
    },
    [Symbol.dispose]() {
      const last = socket
      socket = undefined
      last?.destroy()
    },
  }
}
