import { setTimeout as sleep } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import type { PackagedGuide } from '@plainpath/guides'
import type { Log } from '@plainpath/http'
import { type Database, listen } from '@plainpath/postgres'
import { readAnswerSwitches, withdrawSections } from './answer-switches.ts'
import {
  type AnswerSwitches,
  createGuideCatalog,
  type GuideCatalog,
  type PublishedGuides,
  type StoredGuides,
  treatReleaseAsPublished,
} from './guide-catalog.ts'
import {
  createReleaseTextFinder,
  GUIDES_CHANNEL,
  readGuidesFingerprint,
  readPublishedGuides,
} from './read-published-guides.ts'

export interface FollowedGuides extends AsyncDisposable {
  /** Returns the current catalog. Call it once per request, so that the response does not mix two catalogs. */
  current(): GuideCatalog
}

export interface FollowOptions {
  readonly db: Database
  /** The database URL for notifications. */
  readonly url: string
  /** The guides of this release. They are served until the database has been read, and if nothing was ever published. */
  readonly releaseGuides: readonly PackagedGuide[]
  readonly now: () => Date
  readonly log: Log
  /** Receives each new catalog before requests use it. */
  readonly onChange?: (catalog: GuideCatalog) => void
  /** The polling interval, in addition to notifications; by default 1 s. */
  readonly pollMs?: number
}

/**
 * Keeps a catalog of the published guides and the operators' switches in memory. A notification or the next poll reveals that
 * they changed, and then the whole catalog is replaced in one step. While the database is unavailable, the last catalog is
 * served. If only the guides cannot be read, as after a later release has published, the guides in memory are served with the
 * current switches.
 */
export async function followGuides(options: FollowOptions): Promise<FollowedGuides> {
  const { db, url, releaseGuides, now, log, onChange = () => undefined, pollMs = 1_000 } = options
  const findReleaseText = createReleaseTextFinder(releaseGuides)
  const shutdown = new AbortController()
  let publishedGuides = treatReleaseAsPublished(releaseGuides)
  /** The guides before the operators' switches are applied. */
  let storedGuides: StoredGuides = publishedGuides
  let catalog = createGuideCatalog(publishedGuides, now)
  onChange(catalog)
  let fingerprint: string | undefined
  let isFailing = false
  let listener: AsyncDisposable | undefined

  function replaceCatalog(switches: AnswerSwitches): void {
    publishedGuides = reuseUnchanged(applySwitches(storedGuides, switches), publishedGuides)
    const newCatalog = createGuideCatalog(publishedGuides, now)
    onChange(newCatalog)
    catalog = newCatalog
  }

  /** Reads the guides. If this fails, applies the switches to those in memory, so that operators can still stop wrong answers. */
  async function readGuides(switches: AnswerSwitches): Promise<StoredGuides> {
    try {
      return (await readPublishedGuides(db, findReleaseText)) ?? treatReleaseAsPublished(releaseGuides)
    } catch (error) {
      if (!isDeepStrictEqual(switches, publishedGuides.switches)) replaceCatalog(switches)
      throw error
    }
  }

  const refresh = runOneAtATime(async () => {
    try {
      const newFingerprint = await readGuidesFingerprint(db)
      if (newFingerprint !== fingerprint) {
        const switches = await readAnswerSwitches(db)
        storedGuides = await readGuides(switches)
        replaceCatalog(switches)
        logAlteredGuides(storedGuides, log)
        // Set last, so that the next poll repeats a read that failed.
        fingerprint = newFingerprint
      }
      isFailing = false
    } catch (error) {
      if (!isFailing) log.warn('the published guides cannot be read; those in memory are served', { error })
      isFailing = true
    }
  })
  const ensureListening = async () => {
    try {
      const refreshNow = () => void refresh()
      listener ??= await listen(url, { [GUIDES_CHANNEL]: refreshNow }, { onConnected: refreshNow, log })
    } catch {
      // The database is unavailable. `refresh` logs that, and the next poll tries again.
    }
  }
  const pollOnce = async () => {
    await ensureListening()
    await refresh()
  }

  await pollOnce()
  const pollLoop = (async () => {
    for (;;) {
      // The sleep rejects only when the shutdown aborts it.
      await sleep(pollMs, undefined, { signal: shutdown.signal, ref: false }).catch(() => undefined)
      if (shutdown.signal.aborted) return
      await pollOnce()
    }
  })()
  return {
    current: () => catalog,
    async [Symbol.asyncDispose]() {
      shutdown.abort()
      await pollLoop
      await listener?.[Symbol.asyncDispose]()
      await refresh.waitUntilIdle()
    },
  }
}

/** Applies the operators' switches to the guides. */
const applySwitches = (stored: StoredGuides, switches: AnswerSwitches): PublishedGuides => ({
  ...stored,
  guides: stored.guides.map((guide) => withdrawSections(guide, switches.withdrawnSections)),
  switches,
})

function logAlteredGuides({ alteredSlugs }: StoredGuides, log: Log): void {
  for (const slug of alteredSlugs)
    log.error("a guide was altered in the store; the release's text is served", { slug })
}

/** Reuses the objects of unchanged guides, because responses that were prepared from them are cached by object. */
function reuseUnchanged(stored: PublishedGuides, previous: PublishedGuides): PublishedGuides {
  const previousBySlug = new Map(previous.guides.map((guide) => [guide.slug, guide]))
  const guides = stored.guides.map((guide) => {
    const previousGuide = previousBySlug.get(guide.slug)
    return previousGuide && isDeepStrictEqual(previousGuide, guide) ? previousGuide : guide
  })
  return { ...stored, guides }
}

/** Wraps `work` so that it never runs twice at the same time. All calls during a run share one further run, which follows it. */
function runOneAtATime(work: () => Promise<void>): { (): Promise<void>; waitUntilIdle(): Promise<void> } {
  let currentRun: Promise<void> | undefined
  let mustRunAgain = false
  const run = async () => {
    do {
      mustRunAgain = false
      await work()
    } while (mustRunAgain)
    currentRun = undefined
  }
  const requestRun = () => {
    if (currentRun) mustRunAgain = true
    currentRun ??= run()
    return currentRun
  }
  return Object.assign(requestRun, { waitUntilIdle: async () => currentRun })
}
