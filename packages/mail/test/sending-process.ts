import { readFileSync } from 'node:fs'
import { openPool } from '@plainpath/postgres'
import { parseHashKey, parseKeyEncryptionKeys } from '@plainpath/sealing'
import { Registry } from 'prom-client'
import { smtpTransport } from '../src/mail-transport.ts'
import { openMailer } from '../src/open-mailer.ts'

/** A mailer in a process of its own, to be killed. Standard input: its database, server and keys as JSON. */
const given = JSON.parse(readFileSync(0, 'utf8')) as Record<
  'databaseUrl' | 'smtpUrl' | 'kek' | 'hash',
  string
>
const quiet = () => undefined
openMailer({
  databaseUrl: given.databaseUrl,
  db: openPool(given.databaseUrl),
  sealingKeys: parseKeyEncryptionKeys(given.kek),
  hashKey: parseHashKey(given.hash),
  transport: smtpTransport(given.smtpUrl),
  from: 'no-reply@plainpath.example',
  handlers: { note: {} },
  log: { warn: quiet, error: quiet },
  metrics: { registry: new Registry(), swept: quiet },
  now: () => new Date(),
})
