// Goal: the object store of the tests is one, as long as it is not disturbed. Method: the conformance tests of the
// port.
import { objectStoreConformance } from '../../support/archive/object-store-conformance.ts';
import { SimulatedStore } from '../../support/archive/simulated-store.ts';

objectStoreConformance(() => new SimulatedStore());
