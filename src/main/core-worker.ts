/** What the thread of the core runs. It is composed here, because #cluster does not know how nodes reach each other. */
import { runCore } from '#cluster';

runCore();
