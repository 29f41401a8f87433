import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { expect, test } from 'vitest'
import { createDnsResolver } from './resolve-host.ts'

/* Record types, and the response code for a name that does not exist. */
const A = 1
const AAAA = 28
const NXDOMAIN = 3

/** What the name server sends: the bytes of each address, an error code, or undefined for no response. */
type Answer = readonly (readonly number[])[] | typeof NXDOMAIN | undefined

/** Starts a name server on loopback (RFC 1035 §4). */
async function startNameServer(findAnswer: (type: number) => Answer) {
  const socket = createSocket('udp4')
  const questions: string[] = []
  socket.on('message', (query, { port }) => {
    // The question begins after a header of 12 bytes: labels, each after its length, then a zero, the type and the class.
    const labels: string[] = []
    let end = 12
    for (; query[end] !== 0; end += 1 + query[end]!)
      labels.push(query.toString('latin1', end + 1, end + 1 + query[end]!))
    const type = query.readUInt16BE(end + 1)
    questions.push(labels.join('.'))
    const answer = findAnswer(type)
    if (answer === undefined) return
    const addresses = answer === NXDOMAIN ? [] : answer
    const header = Buffer.from(query.subarray(0, 12))
    // A recursive response to a recursive query (QR, RD, RA), with the response code.
    header.writeUInt16BE(0x8180 | (answer === NXDOMAIN ? NXDOMAIN : 0), 2)
    header.writeUInt16BE(addresses.length, 6)
    header.writeUInt32BE(0, 8)
    // The name of each record is a pointer (0xc0) to the question, which begins at byte 12.
    const records = addresses.map((bytes) =>
      Buffer.from([0xc0, 12, 0, type, 0, 1, 0, 0, 0, 0, 0, bytes.length, ...bytes]),
    )
    socket.send(Buffer.concat([header, query.subarray(12, end + 5), ...records]), port)
  })
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  return {
    questions,
    resolve: createDnsResolver([`127.0.0.1:${socket.address().port}`]),
    [Symbol.dispose]: () => void socket.close(),
  }
}

const createUnabortedSignal = () => new AbortController().signal
const IPV4 = [
  [93, 184, 215, 14],
  [10, 0, 0, 1],
]
const IPV6 = [[0x26, 6, ...Array<number>(13).fill(0), 1]]

test.for<[title: string, findAnswer: (type: number) => Answer, addresses: string[]]>([
  [
    'all addresses of both families',
    (type) => (type === A ? IPV4 : IPV6),
    ['93.184.215.14', '10.0.0.1', '2606::1'],
  ],
  ['IPv4 addresses alone', (type) => (type === A ? IPV4 : []), ['93.184.215.14', '10.0.0.1']],
  ['IPv6 addresses alone', (type) => (type === AAAA ? IPV6 : []), ['2606::1']],
  ['an empty list for a name without addresses', () => [], []],
  ['an empty list for a name that does not exist', () => NXDOMAIN, []],
])('returns %s', async ([, findAnswer, addresses]) => {
  using server = await startNameServer(findAnswer)
  expect(await server.resolve('agent.example.org', createUnabortedSignal())).toEqual(addresses)
  expect(new Set(server.questions)).toEqual(new Set(['agent.example.org']))
})

test('stops when the signal aborts while the name server is silent', async () => {
  using server = await startNameServer(() => undefined)
  const startedAt = performance.now()
  expect(await server.resolve('agent.example.org', AbortSignal.timeout(100))).toEqual([])
  // Without the signal, the resolver gives up after 1.5 s or more, when its second try has failed.
  expect(performance.now() - startedAt).toBeLessThan(1_200)
})

test('stops by itself if the name server is silent and the signal does not abort', async () => {
  using server = await startNameServer(() => undefined)
  expect(await server.resolve('agent.example.org', createUnabortedSignal())).toEqual([])
})
