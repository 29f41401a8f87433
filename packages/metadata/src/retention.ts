/** One kind of data about people or their agents, and how long this version keeps it. */
export interface RetentionRow {
  readonly what: string
  /** In what form. */
  readonly how: string
  readonly until: string
}

/** All that is kept. `/privacy` and `docs/retention.md` are made from it. */
export const RETENTION: readonly RetentionRow[] = [
  {
    what: 'Your e-mail address on the waitlist, and when you joined',
    how: 'The address is encrypted. A keyed hash lets us see that an address is there already.',
    until: 'Kept. There is no way yet to take an address off the list.',
  },
  {
    what: 'Who led whom to the waitlist',
    how: 'A link between two entries. Your share link has 16 random characters.',
    until: 'As long as the two entries.',
  },
  {
    what: 'The name of an agent, if it gave one',
    how: 'Encrypted.',
    until: 'Until the agent deletes its registration.',
  },
  {
    what: 'An agent’s registration: its id, its scopes, its state and when it registered',
    how: 'The id is random.',
    until: 'Kept, also after the agent deletes it, so that the id never works again.',
  },
  {
    what: 'The secret of an agent',
    how: 'Only a keyed hash.',
    until: 'Until the agent deletes its registration.',
  },
  {
    what: 'Access tokens of an agent',
    how: 'Only a hash, with the id of the agent and what the token is for.',
    until: 'One hour after the token was made, and at most a few minutes more.',
  },
  {
    what: 'How often a network address, an agent or an e-mail address was used, for our limits',
    how: 'Counts under keyed hashes. Their random key changes each day.',
    until:
      'Counted for at most an hour and a few minutes. After two days the key is gone, and the hashes say nothing.',
  },
  {
    what: 'One log line for each request',
    how: 'Its time, kind, result, duration and a random number. No network address, e-mail address, search or token.',
    until: 'As long as the operator of this server keeps logs.',
  },
]

/** The table as Markdown. */
export const retentionTable = (): string =>
  [
    '| what | how | how long |',
    '|---|---|---|',
    ...RETENTION.map(({ what, how, until }) => `| ${what} | ${how} | ${until} |`),
  ].join('\n')

/** The whole of `docs/retention.md`. */
export const retentionDocument = (): string => `# What is kept, and how long

Made from \`packages/metadata/src/retention.ts\` by \`npm run generate\`, like the page \`/privacy\`.

${retentionTable()}

Nothing else about a person is stored: no network address, no cookie, no search. Guides are public.
`
