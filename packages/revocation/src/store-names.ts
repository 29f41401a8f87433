/** Of what both apps may touch in Redis, and nothing else of each other. */
export const REVOCATION_NAME = 'revocation'

/** The one hash: number, birth mark and members. It has no time to live, so it goes whole or not at all. */
export const revocationKey = (name: string): string => `${name}:state`

/** The channel on which notices are published. */
export const revocationNotices = (name: string): string => `${name}:notices`
