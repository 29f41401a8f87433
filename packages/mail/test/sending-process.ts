import { readFileSync } from 'node:fs'
import { openPool } from '@plainpath/postgres'
import { createSealer, parseHashKey } from '@plainpath/sealing'
import { Registry } from 'prom-client'
import { createSmtpTransport } from '../src/mail-transport.ts'
import { openMailer } from '../src/open-mailer.ts'

/* Runs a mailer in a process that a test kills. Reads its options as JSON from standard input. */

const options = JSON.parse(readFileSync(0, 'utf8')) as Record<
  'databaseUrl' | 'smtpUrl' | 'kek' | 'hash',
  string
>
const doNothing = () => undefined
openMailer({
  databaseUrl: options.databaseUrl,
  db: openPool(options.databaseUrl),
  sealer: createSealer(options.kek),
  hashKey: parseHashKey(options.hash),
  transport: createSmtpTransport(options.smtpUrl),
  from: 'no-reply@plainpath.example',
  handlers: { note: {} },
  isClockSynchronised: () => true,
  log: { warn: doNothing, error: doNothing },
  metrics: { registry: new Registry(), recordSweep: doNothing },
  now: () => new Date(),
})
