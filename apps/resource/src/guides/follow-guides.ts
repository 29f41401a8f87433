import { setTimeout as sleep } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import type { PackagedGuide } from '@plainpath/guides'
import type { Log } from '@plainpath/http'
import { type Database, listen } from '@plainpath/postgres'
import { readAnswerSwitches, withoutSections } from './answer-switches.ts'
import {
  type AnswerSwitches,
  asPublished,
  type GuideCatalog,
  type GuidesOfStore,
  guideCatalog,
  type PublishedGuides,
} from './guide-catalog.ts'
import { GUIDES_CHANNEL, readGuidesMark, readPublishedGuides, releaseText } from './read-published-guides.ts'

export interface FollowedGuides extends AsyncDisposable {
  /** Take it once for each request, so that the whole answer is of one moment. */
  current(): GuideCatalog
}

export interface FollowOptions {
  readonly db: Database
  /** Where to listen. */
  readonly url: string
  /** The guides of this release: served until the database was read, and while nothing was ever published. */
  readonly packaged: readonly PackagedGuide[]
  readonly now: () => Date
  readonly log: Log
  /** Called with each catalog before requests see it; what it prepares is then ready for them. */
  readonly onChange?: (catalog: GuideCatalog) => void
  /** How often the database is polled, beside its notifications; default 1 s. */
  readonly pollMs?: number
}

/**
 * Keeps what is published, and what operators turned off, in memory. A change is heard at once, or found by polling
 * within a second; it takes the place of what was there in one assignment. While the database is down, what is in memory
 * stays.
 */
export async function followGuides(options: FollowOptions): Promise<FollowedGuides> {
  const { db, url, packaged, now, log, onChange = () => undefined, pollMs = 1_000 } = options
  const textOfRelease = releaseText(packaged)
  const stop = new AbortController()
  let published = asPublished(packaged)
  let catalog = guideCatalog(published, now)
  onChange(catalog)
  let mark: string | undefined
  let failing = false
  let listener: AsyncDisposable | undefined

  const refresh = oneAtATime(async () => {
    try {
      const found = await readGuidesMark(db)
      if (found !== mark) {
        const switches = await readAnswerSwitches(db)
        const read = (await readPublishedGuides(db, textOfRelease)) ?? asPublished(packaged)
        published = keepingKnown(withSwitches(read, switches), published)
        const changed = guideCatalog(published, now)
        onChange(changed)
        catalog = changed
        tellAltered(read, log)
        mark = found
      }
      failing = false
    } catch (error) {
      if (!failing) log.warn('the published guides cannot be read; those in memory are served', { error })
      failing = true
    }
  })
  const hear = async () => {
    try {
      const heard = () => void refresh()
      listener ??= await listen(url, { [GUIDES_CHANNEL]: heard }, { onReconnected: heard, log })
    } catch {
      // The database does not answer: `refresh` says so, and the next round tries again.
    }
  }
  const round = async () => {
    await hear()
    await refresh()
  }

  await round()
  const rounds = (async () => {
    for (;;) {
      await sleep(pollMs, undefined, { signal: stop.signal, ref: false }).catch(() => undefined)
      if (stop.signal.aborted) return
      await round()
    }
  })()
  return {
    current: () => catalog,
    async [Symbol.asyncDispose]() {
      stop.abort()
      await rounds
      await listener?.[Symbol.asyncDispose]()
      await refresh.settled()
    },
  }
}

/** The guides as they are served while these switches are off. */
const withSwitches = (read: GuidesOfStore, switches: AnswerSwitches): PublishedGuides => ({
  ...read,
  guides: read.guides.map((guide) => withoutSections(guide, switches.withdrawnSections)),
  switches,
})

function tellAltered({ altered }: GuidesOfStore, log: Log): void {
  for (const slug of altered)
    log.error('a guide was altered in the store; the text of the release is served', { slug })
}

/** Guides that did not change stay the same objects, so that what was prepared from them stays good. */
function keepingKnown(read: PublishedGuides, before: PublishedGuides): PublishedGuides {
  const known = new Map(before.guides.map((guide) => [guide.slug, guide]))
  const guides = read.guides.map((guide) => {
    const same = known.get(guide.slug)
    return same && isDeepStrictEqual(same, guide) ? same : guide
  })
  return { ...read, guides }
}

/** Runs `work` again when it was asked for while it ran, however often: what it reads is then new enough for all. */
function oneAtATime(work: () => Promise<void>): { (): Promise<void>; settled(): Promise<void> } {
  let running: Promise<void> | undefined
  let again = false
  const run = async () => {
    do {
      again = false
      await work()
    } while (again)
    running = undefined
  }
  const ask = () => {
    if (running) again = true
    running ??= run()
    return running
  }
  return Object.assign(ask, { settled: async () => running })
}
