import { TEST_FILE } from './import-rules.ts'

export interface PatternRule {
  readonly files: RegExp
  readonly except?: RegExp
  readonly forbid: RegExp
  readonly because: string
}

const RULES_THEMSELVES = /^scripts\/(pattern-rules|check-imports\.test)\.ts$/

/** What may not be written in code, found by looking for the words. */
export const PATTERN_RULES: readonly PatternRule[] = [
  {
    files: /^(apps|packages)\/.*\.ts$/,
    except: new RegExp(
      `/src/(main|cli)\\.ts$|^apps/local/src/(main|[a-z]+-command)\\.ts$|${TEST_FILE.source}`,
    ),
    forbid: /\bprocess\.env\b/,
    because: 'the environment is read in main.ts and cli.ts, and handed on as an argument',
  },
  {
    files: /\.ts$/,
    except: RULES_THEMSELVES,
    forbid: /\bNODE_ENV\b/,
    because: 'nothing depends on a name for where it runs',
  },
  {
    files: TEST_FILE,
    except: RULES_THEMSELVES,
    forbid: /\bvi\.(mock|doMock|spyOn)\(/,
    because: 'a test passes a fake that keeps the contract; it does not replace our modules',
  },
  {
    files: TEST_FILE,
    // A run that is drawn has its times.
    except: new RegExp(`${RULES_THEMSELVES.source}|^e2e/graphs/take-graphs\\.ts$`),
    forbid:
      /\bnew Promise\b.*\bsetTimeout\(|\bimport \{[^}]*\bsetTimeout\b[^}]*\} from 'node:timers\/promises'|\bawait (sleep|delay|wait)\(/,
    because: 'a test waits for what it expects (expect.poll), never for a time',
  },
  {
    files: /^e2e\/(faults|soak)\/.*\.ts$/,
    forbid: /\bMath\.random\(/,
    because: 'what a run chooses comes from its seed (e2e/faults/random.ts)',
  },
  {
    files: /\.(ts|mjs)$/,
    except: RULES_THEMSELVES,
    forbid: /\b(TODO|FIXME|XXX|HACK)\b/,
    because: 'what is left to do is an issue',
  },
]
