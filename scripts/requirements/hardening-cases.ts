import { type CaseGroup, group } from './case.ts'

/** What can be done with numbers of requests, caches, logs, memory and clocks. */
export const HARDENING_CASES: readonly CaseGroup[] = [
  group('Limits and ways around them', [
    ['140', 'another `X-Forwarded-For` in each request'],
    ['141', 'an `X-Forwarded-For` that is none, or very long'],
    ['142', 'other headers that name an address'],
    ['143', 'a thousand addresses of one IPv6 network'],
    ['144', 'IPv4 in IPv6, in several spellings'],
    ['145', 'a path or a name that counts as another'],
    ['146', 'more than is allowed, at every endpoint'],
    ['147', 'more than is allowed while Redis is away'],
    ['148', 'bursts on both sides of a window’s edge, at several processes'],
    ['149', 'a count that never ends'],
  ]),
  group('Other sites and caches', [
    ['150', 'a script of another site'],
    ['151', 'a preflight of another site'],
    ['152', 'a form of another site'],
    ['153', 'somebody’s own data under the name of a file'],
    ['154', 'a header that changes what a cache keeps'],
    ['155', 'a failure that a cache keeps'],
    ['156', 'a document that changed, or did not'],
    ['157', 'HEAD, and parts of a document'],
  ]),
  group('Floods and costly work', [
    ['158', 'registrations from hundreds of networks (the contract: limits for each address, none over all)'],
    ['160', 'making the server hash slowly'],
    ['161', 'many agents behind one address'],
    ['162', 'deep JSON, and text that is slow to match'],
    ['163', 'encrypted and packed JWTs'],
    ['164', 'ever new tokens, clients and methods'],
  ]),
  group('Secrets and logs', [
    ['172', 'reading everything that is stored'],
    ['173', 'opening the debugger of a process'],
    ['174', 'a secret in a URL, a header or a body where none belongs'],
    ['175', 'writing lines of the log'],
    ['176', 'an address in JSON that cannot be read'],
    [
      '177',
      'statements and values in the log of PostgreSQL (of `npm start` and compose.yaml; elsewhere it is the operator’s)',
    ],
    ['178', 'watching Redis'],
    [
      '179',
      'secrets in the arguments or the environment (contract §8: the addresses of stores and mail servers are there)',
    ],
    ['180', 'secrets in metrics and traces'],
    ['181', 'secrets in the repository'],
    ['182', 'what a driver says, in an answer or the log'],
    ['183', 'an error that nobody caught'],
  ]),
  group('Clocks', [
    ['251', 'an instance whose clock is an hour ahead or behind'],
    ['252', 'a token one second before, at and after its end'],
    ['253', 'an answer of an authorization server whose clock is ahead (five seconds are let through)'],
    ['254', 'a clock that is set back'],
    ['255', 'the edges of an assertion’s time'],
    ['257', 'an end that is text, a fraction, negative or past all numbers'],
  ]),
]
