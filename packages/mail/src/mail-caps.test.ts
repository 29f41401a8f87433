import { expect, test } from 'vitest'
import { scaledMailCaps } from './mail-caps.ts'

test.for([
  [1, { mailbox: 5, domain: 2_000, all: 20_000 }],
  [100, { mailbox: 500, domain: 200_000, all: 2_000_000 }],
  [0.2, { mailbox: 5, domain: 400, all: 4_000 }],
  [0.000_001, { mailbox: 5, domain: 1, all: 1 }],
] as const)(
  'a factor of %s never keeps the mail from a person that ends what they confirmed',
  ([factor, caps]) => {
    expect(scaledMailCaps(factor)).toEqual(caps)
  },
)
